"""Lines that any stranger can cause: the first ones of a minute, then their number."""

import logging

import pytest

from penstock.observability.line_limit import LineLimit


def test_the_first_ones_then_the_number(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    lines = LineLimit(logging.getLogger("penstock.test").warning, count_max=3, clock=lambda: now[0])
    for number in range(10):
        lines.write("bad %d", number)
    assert caplog.messages == [
        "bad 0", "bad 1", "bad 2", "3 such lines within a minute; further ones are counted, not logged",
    ]  # fmt: skip
    caplog.clear()
    now[0] = 59.9
    lines.write("bad")
    assert caplog.messages == []
    now[0] = 60.0
    lines.write("bad again")
    assert caplog.messages == ["8 more lines such as the next one were left out", "bad again"]
    caplog.clear()
    now[0] = 120.0
    lines.write("bad")
    assert caplog.messages == ["bad"]


def test_lines_have_their_level(caplog: pytest.LogCaptureFixture) -> None:
    LineLimit(logging.getLogger("penstock.test").info).write("hello %s", "x")
    assert [record.levelname for record in caplog.records] == []
    with caplog.at_level(logging.INFO):
        LineLimit(logging.getLogger("penstock.test").info).write("hello %s", "x")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", "hello x")]
