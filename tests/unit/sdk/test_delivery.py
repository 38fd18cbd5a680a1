"""Futures that know whether they were read, and the report of failures that were not."""

from __future__ import annotations

import pytest

from penstock.sdk import Undelivered, Unreachable
from penstock.sdk.delivery import FAILURES_KEPT, Delivery, DeliveryFuture, Failures

pytestmark = pytest.mark.feature("K-19")

DELIVERY = Delivery(topic="t", partition=0, offset=1, timestamp_ms=2)


def failed() -> DeliveryFuture:
    future = DeliveryFuture()
    future.set_exception(Unreachable("gone"))
    return future


def test_a_future() -> None:
    future = DeliveryFuture()
    assert not future.cancel(), "the message may be under way"
    with pytest.raises(TimeoutError):
        future.result(0)
    assert not future.is_looked_at
    future.set_result(DELIVERY)
    assert future.result(0) is DELIVERY
    assert future.is_looked_at


def test_failures_are_told_once() -> None:
    failures = Failures()
    failures.check()
    failures.add(failed())
    failures.add(failed())
    with pytest.raises(Undelivered, match=r"2 messages were not delivered \(the first: gone\)") as caught:
        failures.check()
    assert [str(error) for error in caught.value.errors] == ["gone", "gone"]
    failures.check()


def test_failures_that_somebody_knows_are_not_told() -> None:
    failures, seen, excepted, called = Failures(), failed(), failed(), failed()
    for future in (seen, excepted, called):
        failures.add(future)
    with pytest.raises(Unreachable):
        seen.result()
    assert isinstance(excepted.exception(), Unreachable)
    called.add_done_callback(lambda _: None)
    failures.check()


def test_there_are_many() -> None:
    failures = Failures()
    for _ in range(FAILURES_KEPT + 50):
        failures.add(failed())
    with pytest.raises(Undelivered, match=f"{FAILURES_KEPT + 50} messages") as caught:
        failures.check()
    assert len(caught.value.errors) == FAILURES_KEPT
