"""Answers that became ready together leave together."""

from collections.abc import Callable

import pytest

from penstock.net.outbox import Outbox


class Line:
    def __init__(self, outbox: Outbox) -> None:
        self.sent = 0
        self.then: Callable[[], None] | None = None
        self._outbox = outbox

    def ready(self) -> None:
        self._outbox.put(self)

    def send_ready(self) -> None:
        self.sent += 1
        if self.then is not None:
            then, self.then = self.then, None
            then()


def test_the_loop_sends_what_nobody_sent() -> None:
    calls: list[Callable[[], None]] = []
    outbox = Outbox(calls.append)
    lines = [Line(outbox) for _ in range(3)]
    for line in lines:
        line.ready()
    assert len(calls) == 1
    calls[0]()
    assert [line.sent for line in lines] == [1, 1, 1]
    outbox.send()
    assert [line.sent for line in lines] == [1, 1, 1]
    lines[0].ready()
    assert len(calls) == 2


def test_what_becomes_ready_while_others_send_is_sent_too() -> None:
    outbox = Outbox(lambda call: None)
    first, second = Line(outbox), Line(outbox)
    first.then = second.ready
    first.ready()
    outbox.send()
    assert second.sent == 1


def test_one_connections_trouble_is_not_that_of_the_others() -> None:
    def fail() -> None:
        raise RuntimeError("on purpose")

    outbox = Outbox(lambda call: None)
    lines = [Line(outbox) for _ in range(3)]
    lines[1].then = fail
    for line in lines:
        line.ready()
    outbox.send()
    assert [line.sent for line in lines] == [1, 1, 1]


@pytest.mark.parametrize(("count", "expected"), [(3, [2, 1, 0]), (20, list(range(20)))], ids=["few", "many"])
def test_of_a_few_those_that_became_ready_last_go_first(count: int, expected: list[int]) -> None:
    """They wait for what the others have written; of many, nobody is put off."""
    outbox, order = Outbox(lambda call: None), []
    for number in range(count):
        line = Line(outbox)
        line.then = lambda number=number: order.append(number)
        line.ready()
    outbox.send()
    assert order == expected
