"""Rates and buckets with a clock that the test moves; the expected times are computed by hand."""

import pytest

from penstock.broker.quotas.bucket import Bucket
from penstock.broker.quotas.rate import THROTTLE_MS_MAX, Rate

pytestmark = pytest.mark.feature("F-01")

T = 5_000_000


def test_ten_seconds_worth_are_free_at_first() -> None:
    rate = Rate(100.0)
    assert rate.charge(1000, T) == 0
    assert rate.charge(1, T) == 10  # 1001 over ten seconds is 0.1 a second too much, a thousandth of the limit


def test_the_wait_brings_the_average_to_the_limit() -> None:
    rate = Rate(100.0)
    wait_ms = rate.charge(1070, T)
    assert wait_ms == 700
    assert rate.wait_ms(T + wait_ms - 5) > 0
    assert rate.wait_ms(T + wait_ms) == 0


def test_the_window_steps_by_whole_samples() -> None:
    """Time counts fully within a sample; a second later the window is ten seconds again until samples drop out."""
    rate = Rate(100.0)
    assert rate.charge(1050, T) == 500
    assert rate.wait_ms(T + 999) == 0
    assert rate.wait_ms(T + 1000) == 500


def test_samples_drop_out_after_eleven_seconds() -> None:
    rate = Rate(100.0)
    assert rate.charge(2000, T) == 10_000
    rate.add(500, T + 2000)
    # The first sample is one second before the beginning of the window, and counts for the last time.
    assert rate.wait_ms(T + 10_999) > 0
    assert rate.wait_ms(T + 11_000) == 0
    assert rate.charge(600, T + 11_000) == round((500 + 600) / 100 * 1000 - 10_000)


def test_what_is_taken_back_was_never_there() -> None:
    rate, other = Rate(100.0), Rate(100.0)
    for each in (rate, other):
        each.add(900, T)
    assert rate.charge(5000, T + 300) > 0
    rate.add(-5000, T + 300)
    assert rate.charge(150, T + 500) == other.charge(150, T + 500)


def test_a_steady_client_is_held_at_its_limit() -> None:
    """A client that waits for its throttle times gets its limit in the long run."""
    rate = Rate(1000.0)
    now_ms, sent = T, 0
    while now_ms < T + 120_000:
        sent += 300
        now_ms += max(1, rate.charge(300, now_ms))
    assert sent / 120 == pytest.approx(1000, rel=0.1)


def test_old_samples_are_used_again() -> None:
    rate = Rate(1e9)
    for second in range(100):
        rate.add(1.0, T + second * 1000)
    assert len(rate._samples) == 12


def test_a_rate_is_idle_when_nothing_is_in_its_window() -> None:
    rate = Rate(1.0)
    assert rate.is_idle(T)
    rate.add(5, T)
    assert not rate.is_idle(T + 10_999)
    assert rate.is_idle(T + 11_000)


@pytest.mark.parametrize("limit", [1e-9, 5e-324])
def test_no_wait_is_longer_than_an_answer_can_say(limit: float) -> None:
    assert Rate(limit).charge(1e12, T) in (THROTTLE_MS_MAX, THROTTLE_MS_MAX - 1)


def test_a_bucket_is_full_at_first_and_may_be_overdrawn() -> None:
    bucket = Bucket(2.0)
    assert bucket.wait_ms(T) == 0
    bucket.take(22, T)
    assert bucket.wait_ms(T) == 0
    bucket.take(5, T)
    assert bucket.wait_ms(T) == 2500
    assert bucket.wait_ms(T + 1000) == 1500
    assert bucket.wait_ms(T + 2500) == 0
    bucket.take(1, T + 2500)
    assert bucket.wait_ms(T + 2500) == 500


def test_a_bucket_fills_no_higher_than_eleven_seconds_worth() -> None:
    bucket = Bucket(2.0)
    bucket.take(10, T)
    assert not bucket.is_idle(T + 4999)
    assert bucket.is_idle(T + 5000)
    bucket.take(23, T + 1_000_000)
    assert bucket.wait_ms(T + 1_000_000) == 500
