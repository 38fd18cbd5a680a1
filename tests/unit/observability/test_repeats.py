"""Log lines that clients can cause at will."""

import logging

import pytest

from penstock.observability.repeats import INTERVAL_S, KINDS_MAX, Repeats

logger = logging.getLogger("penstock.test")


def test_a_kind_is_told_once_a_minute_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    repeats = Repeats(logger, lambda: now)
    for _ in range(5):
        repeats.warning("a", "refused %s", "x")
    repeats.warning("b", "refused %s", "y")
    assert caplog.messages == ["refused x", "refused y"]
    now = INTERVAL_S
    repeats.warning("a", "refused %s", "x")
    assert caplog.messages[-1] == "refused x (and 4 times more since this was last logged)"


def test_all_kinds_together_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    repeats = Repeats(logger, lambda: now, total_max=2)
    for kind in ("a", "a", "b", "c", "d"):
        repeats.warning(kind, "bad %s", kind)
    told = "2 such lines within a minute; further ones are counted, not logged"
    assert caplog.messages == ["bad a", "bad b", told]
    caplog.clear()
    now = INTERVAL_S
    repeats.warning("c", "bad %s", "c")
    repeats.warning("a", "bad %s", "a")
    again = "(and 1 times more since this was last logged)"
    assert caplog.messages == [f"bad c {again}", f"bad a {again}"]


def test_the_first_ones_then_the_number(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    repeats = Repeats(logger, lambda: now, lines_max=3)
    for number in range(10):
        repeats.warning("bad", "bad %d", number)
    assert caplog.messages == [
        "bad 0", "bad 1", "bad 2", "3 such lines within a minute; further ones are counted, not logged",
    ]  # fmt: skip
    caplog.clear()
    now = INTERVAL_S - 0.1
    repeats.warning("bad", "bad")
    assert caplog.messages == []
    now = INTERVAL_S
    repeats.warning("bad", "bad again")
    assert caplog.messages == ["bad again (and 8 times more since this was last logged)"]
    caplog.clear()
    now = 2 * INTERVAL_S
    repeats.warning("bad", "bad")
    assert caplog.messages == ["bad"]


def test_kinds_that_have_had_their_lines_count_in_all(caplog: pytest.LogCaptureFixture) -> None:
    """A client that chooses the kinds could otherwise cause a line that says so for each of them."""
    repeats = Repeats(logger, lambda: 0.0, lines_max=2, total_max=7)
    for kind in range(100):
        for _ in range(5):
            repeats.warning(kind, "came and went")
    told = "2 such lines within a minute; further ones are counted, not logged"
    last = "7 such lines within a minute; further ones are counted, not logged"
    assert caplog.messages == ["came and went", "came and went", told] * 2 + ["came and went", last]


def test_lines_have_their_level(caplog: pytest.LogCaptureFixture) -> None:
    Repeats(logger).info("x", "hello %s", "x")
    assert caplog.messages == []
    with caplog.at_level(logging.INFO):
        Repeats(logger).info("x", "hello %s", "x")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", "hello x")]


def test_memory_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    repeats = Repeats(logger, lambda: 0.0)
    for number in range(3 * KINDS_MAX):
        repeats.warning(number, "refused")
    assert len(repeats._kinds) <= KINDS_MAX
    assert len(caplog.records) == 3 * KINDS_MAX
