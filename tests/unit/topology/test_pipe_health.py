"""Health with hysteresis, and which parent's turn it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.settings import PipeSettings
from penstock.topology.pipe.health import PipeHealth
from penstock.topology.pipe.parents import Parents

pytestmark = pytest.mark.feature("P-28")


def health(**settings: int) -> PipeHealth:
    return PipeHealth(PipeSettings(**settings))  # type: ignore[arg-type]


def test_one_failure_degrades_five_make_it_unhealthy_three_successes_heal() -> None:
    pipe = health()
    seen = []
    for _ in range(5):
        pipe.failed()
        seen.append(pipe.state.name)
    assert seen == ["DEGRADED"] * 4 + ["UNHEALTHY"]
    seen = []
    for _ in range(3):
        pipe.succeeded()
        seen.append(pipe.state.name)
    assert seen == ["UNHEALTHY", "UNHEALTHY", "HEALTHY"]


def test_lag_counts_and_is_forgiven_only_after_three_answers() -> None:
    pipe = health()
    for _ in range(10):
        pipe.succeeded()
    pipe.lags(10_000)
    assert pipe.state.name == "HEALTHY"
    pipe.lags(10_001)
    assert pipe.state.name == "DEGRADED"
    pipe.lags(60_001)
    assert pipe.state.name == "UNHEALTHY"
    pipe.lags(0)
    assert pipe.state.name == "UNHEALTHY"
    pipe.succeeded()
    pipe.succeeded()
    pipe.lags(20_000)
    pipe.succeeded()
    assert pipe.state.name == "DEGRADED"  # as far as the lag allows
    pipe.lags(0)
    assert pipe.state.name == "HEALTHY"


def test_a_success_between_failures_begins_the_count_again() -> None:
    pipe = health(unhealthy_failures=2)
    pipe.failed()
    pipe.succeeded()
    pipe.failed()
    assert pipe.state.name == "DEGRADED"
    pipe.failed()
    assert pipe.state.name == "UNHEALTHY"


def test_all_limits_are_settings() -> None:
    pipe = health(degraded_failures=2, unhealthy_failures=3, healthy_successes=1, degraded_lag_ms=5, unhealthy_lag_ms=7)
    pipe.failed()
    assert pipe.state.name == "HEALTHY"
    pipe.failed()
    assert pipe.state.name == "DEGRADED"
    pipe.failed()
    assert pipe.state.name == "UNHEALTHY"
    pipe.succeeded()
    assert pipe.state.name == "HEALTHY"
    pipe.lags(6)
    assert pipe.state.name == "DEGRADED"


@given(st.lists(st.sampled_from(["failed", "succeeded", "slow", "fast"])))
def test_it_never_gets_better_by_anything_but_answers(events: list[str]) -> None:
    pipe = health()
    successes = 0
    for event in events:
        before = pipe.state
        successes = successes + 1 if event == "succeeded" else 0 if event == "failed" else successes
        if event in ("slow", "fast"):
            pipe.lags(100_000 if event == "slow" else 0)
        else:
            getattr(pipe, event)()
        if pipe.state < before:
            assert successes >= 3


def test_parents_have_their_turn_one_after_the_other() -> None:
    parents = Parents(["a", "b", "c", "b"])
    seen = [parents.current]
    for _ in range(3):
        assert parents.fail_over()
        seen.append(parents.current)
    assert seen == ["a", "b", "c", "a"]
    parents.fail_over()
    assert parents.set(["a", "b"])
    assert parents.current == "a"
    assert not parents.set(["a"])
    assert not parents.fail_over()
    assert parents.set([])
    assert parents.current is None
