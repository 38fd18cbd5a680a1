"""Who does not answer is left alone for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.address import Address
from penstock.client.breaker import FAILURES_MAX, Breaker
from penstock.client.patience import USUAL

HERE, THERE = Address("here", 1), Address("there", 2)


@pytest.mark.feature("F-13")
def test_a_few_failures_open_it_and_one_success_closes_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_MAX - 1):
        breaker.failed(HERE, 100.0)
    assert breaker.pause_left(HERE, 100.0) == 0
    breaker.failed(HERE, 100.0)
    assert breaker.pause_left(HERE, 100.0) == USUAL.away_s
    assert breaker.pause_left(THERE, 100.0) == 0, "the others are not its business"
    assert breaker.pause_left(HERE, 100.0 + USUAL.away_s) == 0, "half open"
    breaker.succeeded(HERE)
    breaker.failed(HERE, 200.0)
    assert breaker.pause_left(HERE, 200.0) == 0, "a success resets the count"


@pytest.mark.feature("F-13")
@given(st.lists(st.floats(0, 20), min_size=1, max_size=20))
def test_a_failed_attempt_doubles_the_pause_up_to_a_bound(waits: list[float]) -> None:
    breaker, now, expected = Breaker(), 0.0, USUAL.away_s
    for _ in range(FAILURES_MAX):
        breaker.failed(HERE, now)
    for wait in waits:
        assert breaker.pause_left(HERE, now) == pytest.approx(expected)
        now += expected + wait
        assert breaker.pause_left(HERE, now) == 0
        breaker.failed(HERE, now)
        expected = min(expected * 2, USUAL.away_s_max)
