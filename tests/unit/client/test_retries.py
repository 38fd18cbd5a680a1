"""Trying again: what passes is waited for, longer each time; what does not pass is told at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from penstock.client import retries
from penstock.client.connection import BrokerUnavailable
from penstock.client.patience import USUAL, Patience
from penstock.client.retries import persist
from penstock.model.errors import ErrorCode, KafkaError


class Time:
    """A clock that advances only during sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(retries, "time", time)
    return time


def failing(*errors: Exception) -> Callable[[], str]:
    left = iter(errors)

    def attempt() -> str:
        for error in left:
            raise error
        return "done"

    return attempt


@pytest.mark.feature("F-13")
def test_pauses_double_up_to_a_bound(time: Time) -> None:
    forgotten: list[float] = []
    errors = [BrokerUnavailable("gone"), KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)] * 5
    found = persist(failing(*errors), timeout_s=60.0, before_next=lambda: forgotten.append(time.now))
    assert found == "done"
    doubled = itertools.accumulate(range(9), lambda pause, _: min(2 * pause, USUAL.pause_s_max), initial=USUAL.pause_s)
    assert time.pauses == pytest.approx(list(doubled))
    assert len(forgotten) == len(errors), "what may be outdated is forgotten before each new attempt"


@pytest.mark.feature("F-13")
def test_the_time_is_bounded_and_the_last_failure_told(time: Time) -> None:
    errors = (BrokerUnavailable(f"attempt {number}") for number in itertools.count())

    def attempt() -> str:
        raise next(errors)

    with pytest.raises(BrokerUnavailable, match=r"attempt \d+"):
        persist(attempt, timeout_s=5.0)
    assert 5.0 - USUAL.pause_s_max <= time.now <= 5.0


def test_attempts_are_counted_if_a_number_is_given(time: Time) -> None:
    with pytest.raises(BrokerUnavailable):
        persist(
            failing(*[BrokerUnavailable("away")] * 9),
            timeout_s=60.0,
            patience=Patience(attempts_max=3, pause_s=0.5, pause_s_max=0.5),
        )
    assert time.pauses == [0.5, 0.5]


def test_what_does_not_pass_is_not_tried_again(time: Time) -> None:
    with pytest.raises(KafkaError):
        persist(failing(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)), timeout_s=60.0)
    assert time.pauses == []
