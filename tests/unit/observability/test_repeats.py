"""Log lines that clients can cause at will."""

import logging

import pytest

from penstock.observability.repeats import INTERVAL_S, KINDS_MAX, Repeats


def test_a_kind_is_told_once_a_minute_with_its_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    repeats = Repeats(logging.getLogger("penstock.test"), lambda: now)
    for _ in range(5):
        repeats.warning("a", "refused %s", "x")
    repeats.warning("b", "refused %s", "y")
    assert [record.getMessage() for record in caplog.records] == ["refused x", "refused y"]
    now = INTERVAL_S
    repeats.warning("a", "refused %s", "x")
    assert caplog.records[-1].getMessage() == "refused x (and 4 times more since this was last logged)"


def test_memory_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    repeats = Repeats(logging.getLogger("penstock.test"), lambda: 0.0)
    for number in range(3 * KINDS_MAX):
        repeats.warning(number, "refused")
    assert len(repeats._logged) <= KINDS_MAX
    assert len(caplog.records) == 3 * KINDS_MAX
