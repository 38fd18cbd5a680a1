"""Failed logins: how long attempts are held off, and what is remembered."""

from __future__ import annotations

import pytest

from penstock.security.sasl.failed_logins import (
    ENTRIES_MAX,
    FORGOTTEN_SECONDS,
    LONGEST_SECONDS,
    OF_ADDRESS_FREE,
    FailedLogins,
)

HERE, THERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def failures() -> FailedLogins:
    return FailedLogins()


def fail(failures: FailedLogins, address: str, user: str, now: float) -> float:
    """An attempt that comes now, and fails when it is checked: how long it has waited."""
    turn = failures.turn(address, user, now)
    assert turn.is_checked
    failures.failed(address, user, now + turn.wait_s)
    return turn.wait_s


def test_the_first_attempt_does_not_wait(failures: FailedLogins) -> None:
    assert failures.turn(HERE, "alice", 0.0) == (0.0, True)


def test_each_failure_doubles_the_wait_up_to_ten_seconds(failures: FailedLogins) -> None:
    now, waits = 0.0, []
    for _ in range(12):
        waits.append(fail(failures, HERE, "alice", now))
        now += waits[-1]
    assert waits[:8] == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])
    assert waits[8:] == [pytest.approx(LONGEST_SECONDS)] * 4


def test_attempts_at_the_same_time_wait_one_behind_the_other(failures: FailedLogins) -> None:
    for _ in range(4):
        failures.failed(HERE, "alice", 0.0)
    turns = [failures.turn(HERE, "alice", 0.0) for _ in range(20)]
    assert [turn.wait_s for turn in turns[:3]] == pytest.approx([0.8, 1.6, 2.4])
    assert [turn.is_checked for turn in turns] == [True] * 12 + [False] * 8
    assert [turn.wait_s for turn in turns[12:]] == [LONGEST_SECONDS] * 8


def test_an_address_is_held_to_one_attempt_a_second_whatever_the_names(failures: FailedLogins) -> None:
    for number in range(OF_ADDRESS_FREE):
        assert fail(failures, HERE, f"user {number}", 0.0) == 0
    turns = [failures.turn(HERE, f"other {number}", 0.0) for number in range(12)]
    assert [turn.wait_s for turn in turns] == pytest.approx([*range(1, 11), 10, 10])
    assert [turn.is_checked for turn in turns] == [True] * 10 + [False] * 2


def test_a_user_that_has_logged_in_there_before_is_not_held_off_by_others(failures: FailedLogins) -> None:
    failures.succeeded(HERE, "bob")
    for number in range(100):
        failures.failed(HERE, f"user {number}", 0.0)
    assert failures.turn(HERE, "bob", 0.0) == (0.0, True)
    assert failures.turn(HERE, "carol", 0.0).wait_s > 0


def test_a_user_that_waits_does_not_hold_off_others_at_its_address(failures: FailedLogins) -> None:
    for _ in range(OF_ADDRESS_FREE - 1):
        failures.failed(HERE, "alice", 0.0)
    assert failures.turn(HERE, "alice", 0.0).wait_s == LONGEST_SECONDS
    assert failures.turn(HERE, "carol", 0.0) == (0.0, True)


def test_nobody_is_locked_out_from_another_address(failures: FailedLogins) -> None:
    for _ in range(100):
        failures.failed(HERE, "alice", 0.0)
    assert failures.turn(THERE, "alice", 0.0) == (0.0, True)


def test_a_login_ends_the_wait_of_the_user(failures: FailedLogins) -> None:
    for _ in range(8):
        failures.failed(HERE, "alice", 0.0)
    failures.succeeded(HERE, "alice")
    assert failures.turn(HERE, "alice", 0.0) == (0.0, True)


def test_failures_are_forgotten(failures: FailedLogins) -> None:
    for _ in range(20):
        failures.failed(HERE, "alice", 0.0)
    assert failures.turn(HERE, "alice", FORGOTTEN_SECONDS + 1) == (0.0, True)
    assert fail(failures, HERE, "alice", FORGOTTEN_SECONDS + 1) == 0


def test_addresses_of_one_network_of_ipv6_are_one(failures: FailedLogins) -> None:
    for number in range(OF_ADDRESS_FREE):
        failures.failed(f"2001:db8::{number:x}", f"user {number}", 0.0)
    assert failures.turn("2001:db8::ffff:1", "other", 0.0).wait_s > 0
    assert failures.turn("2001:db8:0:1::1", "other", 0.0).wait_s == 0
    assert failures.turn("fe80::1%eth0", "other", 0.0).wait_s == 0


def test_what_is_remembered_is_bounded(failures: FailedLogins) -> None:
    for number in range(ENTRIES_MAX + 100):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        failures.failed(address, "x" * 10_000, float(number) / 1000)
        failures.succeeded(address, "y")
    assert len(failures) == ENTRIES_MAX
