"""Waiters ordered by offset: told once, in order, with their outcome."""

from __future__ import annotations

import random
from collections.abc import Callable

from penstock.cluster.waits import OffsetWaits
from penstock.model.errors import ErrorCode


class Told:
    """Which waiters were called, and with what."""

    def __init__(self) -> None:
        self.waits = OffsetWaits()
        self.outcomes: list[tuple[str, ErrorCode]] = []

    def add(self, name: str, last_offset: int) -> Callable[[ErrorCode], None]:
        def done(code: ErrorCode) -> None:
            self.outcomes.append((name, code))

        self.waits.add(last_offset, done)
        return done

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.outcomes]


def test_those_below_the_end_are_told_in_order() -> None:
    told = Told()
    for name, offset in (("a", 1), ("b", 4), ("c", 9)):
        told.add(name, offset)
    told.waits.release(1)
    assert told.names == []
    told.waits.release(5)
    assert told.outcomes == [("a", ErrorCode.NONE), ("b", ErrorCode.NONE)]
    told.waits.release(10)
    assert told.names == ["a", "b", "c"]


def test_one_that_comes_late_for_an_early_offset_goes_between_the_others() -> None:
    told = Told()
    for name, offset in (("last", 9), ("first", 2), ("same as first", 2), ("middle", 5)):
        told.add(name, offset)
    told.waits.release(3)
    assert told.names == ["first", "same as first"]
    told.waits.release(100)
    assert told.names == ["first", "same as first", "middle", "last"]


def test_a_failure_is_told_to_all_and_once() -> None:
    told = Told()
    told.add("a", 1)
    told.add("b", 2)
    told.waits.fail(ErrorCode.KAFKA_STORAGE_ERROR)
    assert told.outcomes == [("a", ErrorCode.KAFKA_STORAGE_ERROR), ("b", ErrorCode.KAFKA_STORAGE_ERROR)]
    told.waits.release(100)
    told.waits.fail(ErrorCode.KAFKA_STORAGE_ERROR)
    assert len(told.outcomes) == 2


def test_a_waiter_may_add_another_while_it_is_called() -> None:
    told = Told()

    def add_more(code: ErrorCode) -> None:
        told.add("due", 1)
        told.add("not due", 7)

    told.waits.add(0, add_more)
    told.waits.release(5)
    assert told.names == ["due"]
    told.waits.add(8, add_more)
    told.waits.fail(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert told.names == ["due", "not due"], "the new ones came after the failure"
    assert len(told.waits.waiting) == 2


def test_an_error_of_one_waiter_keeps_no_other_from_its_turn() -> None:
    told = Told()

    def bad(code: ErrorCode) -> None:
        raise ValueError

    told.waits.add(0, bad)
    told.add("next", 0)
    try:
        told.waits.release(1)
    except ValueError:
        told.waits.release(1)
    assert told.names == ["next"]


def test_one_that_has_cancelled_is_not_told() -> None:
    told = Told()
    first, second = told.add("first", 3), told.add("second", 3)
    assert told.waits.cancel(3, first)
    assert not told.waits.cancel(3, first)
    assert not told.waits.cancel(2, second), "it waits for another offset"
    told.waits.release(4)
    assert told.names == ["second"]
    assert not told.waits.cancel(3, second)


def test_any_order_of_arrival_is_told_by_offset() -> None:
    order = random.Random(7)
    for _ in range(50):
        told = Told()
        offsets = [order.randrange(20) for _ in range(30)]
        for number, offset in enumerate(offsets):
            told.add(f"{offset}/{number}", offset)
        end = order.randrange(22)
        told.waits.release(end)
        due = sorted((offset, number) for number, offset in enumerate(offsets) if offset < end)
        assert told.names == [f"{offset}/{number}" for offset, number in due]
