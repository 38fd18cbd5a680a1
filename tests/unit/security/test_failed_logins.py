"""Failed logins: how long attempts are held off, and what is remembered."""

from __future__ import annotations

import pytest

from penstock.security.sasl.failed_logins import (
    ENTRIES_MAX,
    FORGOTTEN_SECONDS,
    LONGEST_SECONDS,
    PATIENCE_SECONDS,
    STEADY_FREE,
    WELCOME_PATIENCE_SECONDS,
    FailedLogins,
)

HERE, THERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def failures() -> FailedLogins:
    return FailedLogins()


def wait(failures: FailedLogins, address: str, user: str, now: float) -> float:
    """How long an attempt waits that comes now and has its turn; it is being checked then."""
    at = now
    while wait_s := failures.turn(address, user, at, now):
        at += wait_s
    assert wait_s is not None, f"{user} was refused unchecked"
    return at - now


def fail(failures: FailedLogins, address: str, user: str, now: float) -> float:
    """How long an attempt waits that comes now, and fails when it is checked."""
    waited = wait(failures, address, user, now)
    failures.failed(address, user, now + waited)
    return waited


def log_in(failures: FailedLogins, address: str, user: str, now: float) -> float:
    waited = wait(failures, address, user, now)
    failures.succeeded(address, user, now + waited)
    return waited


def fail_all_at_once(failures: FailedLogins, user: str, number: int, until: float) -> list[float]:
    """The times at which attempts fail that all come at 0, whoever of them is served first."""
    times: list[float] = []
    asked_at = dict.fromkeys(range(number), 0.0)
    while asked_at:
        each, at = min(asked_at.items(), key=lambda item: item[1])
        if at > until:
            break
        wait_s = failures.turn(HERE, user, at, 0.0)
        if wait_s:
            asked_at[each] = at + wait_s
            continue
        del asked_at[each]
        if wait_s is not None:
            failures.failed(HERE, user, at)
            times.append(at)
    return times


def test_the_first_attempt_does_not_wait(failures: FailedLogins) -> None:
    assert wait(failures, HERE, "alice", 0.0) == 0


def test_each_failure_doubles_the_wait_up_to_ten_seconds(failures: FailedLogins) -> None:
    now, waits = 0.0, []
    for _ in range(12):
        waits.append(fail(failures, HERE, "alice", now))
        now += waits[-1]
    assert waits[:8] == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])
    assert waits[8:] == pytest.approx([LONGEST_SECONDS] * 4)


def test_a_crowd_of_attempts_at_once_is_checked_as_one_behind_the_other(failures: FailedLogins) -> None:
    assert fail_all_at_once(failures, "alice", 300, 60.0) == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3])
    assert failures.turn(HERE, "alice", PATIENCE_SECONDS, 0.0) is None


def test_attempts_that_are_being_checked_hold_off_others(failures: FailedLogins) -> None:
    """None of them has failed yet, and may never do: a client that goes away before it is told has guessed, too."""
    assert [failures.turn(HERE, "alice", 0.0, 0.0) for _ in range(3)] == pytest.approx([0, 0.1, 0.1])
    names = [f"user {number}" for number in range(STEADY_FREE + 3)]
    waits = [failures.turn(THERE, name, 0.0, 0.0) for name in names]
    assert waits == pytest.approx([0] * STEADY_FREE + [0.1] * 3)


def test_clients_that_log_in_at_once_wait_for_the_first_alone(failures: FailedLogins) -> None:
    assert failures.turn(HERE, "alice", 0.0, 0.0) == 0
    assert failures.turn(HERE, "alice", 0.0, 0.0) == pytest.approx(0.1)
    failures.succeeded(HERE, "alice", 0.05)
    assert [failures.turn(HERE, "alice", 0.1, 0.0) for _ in range(STEADY_FREE)] == [0] * STEADY_FREE


def test_many_users_that_log_in_at_once_are_not_held_to_one_a_second(failures: FailedLogins) -> None:
    for number in range(200):
        assert failures.turn(HERE, f"user {number}", number / 100, number / 100) == 0
        if number >= STEADY_FREE - 2:
            failures.succeeded(HERE, f"user {number - STEADY_FREE + 2}", number / 100)


def test_an_address_is_held_to_one_attempt_a_second_whatever_the_names(failures: FailedLogins) -> None:
    for number in range(STEADY_FREE):
        assert fail(failures, HERE, f"user {number}", 0.0) == 0
    waits = [fail(failures, HERE, f"other {number}", 0.0) for number in range(10)]
    assert waits == pytest.approx([*range(1, 11)])
    assert failures.turn(HERE, "late", PATIENCE_SECONDS, 0.0) is None


def test_a_user_that_has_logged_in_there_before_is_not_held_off_by_others(failures: FailedLogins) -> None:
    log_in(failures, HERE, "bob", 0.0)
    for number in range(20):
        fail(failures, HERE, f"user {number}", float(number))
    assert wait(failures, HERE, "bob", 19.0) == 0
    assert wait(failures, HERE, "carol", 19.0) > 0


def test_a_user_that_has_logged_in_there_before_is_not_locked_out_by_guesses_at_it(failures: FailedLogins) -> None:
    log_in(failures, HERE, "alice", 0.0)
    now = 0.0
    for _ in range(100):
        now += fail(failures, HERE, "alice", now)
    assert now == pytest.approx(90), "ten at once, then one a second"
    assert log_in(failures, HERE, "alice", now) == pytest.approx(1)
    now += 1 + fail(failures, HERE, "alice", now + 1)
    assert failures.turn(HERE, "alice", now, now - 2 * PATIENCE_SECONDS) == pytest.approx(1), "refused unchecked"


def test_whoever_logs_in_all_the_time_is_not_held_off_and_does_not_help_those_that_guess(
    failures: FailedLogins,
) -> None:
    log_in(failures, HERE, "alice", 0.0)
    for _ in range(STEADY_FREE):
        fail(failures, HERE, "alice", 0.0)
    assert [log_in(failures, HERE, "alice", 1.0) for _ in range(50)] == [0] * 50
    assert fail(failures, HERE, "alice", 1.0) == 0
    assert fail(failures, HERE, "alice", 1.0) == pytest.approx(1)


def test_an_attempt_at_a_user_that_logged_in_there_has_an_end_too(failures: FailedLogins) -> None:
    log_in(failures, HERE, "alice", 0.0)
    for number in range(STEADY_FREE + 70):
        fail(failures, HERE, "alice", float(number))
    assert failures.turn(HERE, "alice", 79.5, 79.5 - WELCOME_PATIENCE_SECONDS) is None


def test_a_user_that_waits_does_not_hold_off_others_at_its_address(failures: FailedLogins) -> None:
    now = 0.0
    for _ in range(STEADY_FREE - 1):
        now += fail(failures, HERE, "alice", now)
    assert failures.turn(HERE, "alice", now, now) == pytest.approx(LONGEST_SECONDS)
    assert wait(failures, HERE, "carol", now) == 0


def test_nobody_is_locked_out_from_another_address(failures: FailedLogins) -> None:
    fail_all_at_once(failures, "alice", 100, 60.0)
    assert wait(failures, THERE, "alice", 6.3) == 0


def test_a_login_ends_the_wait_of_the_user(failures: FailedLogins) -> None:
    now = 0.0
    for _ in range(8):
        now += fail(failures, HERE, "alice", now)
    now += log_in(failures, HERE, "alice", now)
    assert wait(failures, HERE, "alice", now) == 0


def test_failures_are_forgotten(failures: FailedLogins) -> None:
    now = 0.0
    for _ in range(20):
        now += fail(failures, HERE, "alice", now)
    now += FORGOTTEN_SECONDS + 1
    assert fail(failures, HERE, "alice", now) == 0
    assert fail(failures, HERE, "alice", now) == pytest.approx(0.1)


def test_addresses_of_one_network_of_ipv6_are_one(failures: FailedLogins) -> None:
    for number in range(STEADY_FREE):
        fail(failures, f"2001:db8::{number:x}", f"user {number}", 0.0)
    assert wait(failures, "2001:db8::ffff:1", "other", 0.0) > 0
    assert wait(failures, "2001:db8:0:1::1", "other", 0.0) == 0
    assert wait(failures, "fe80::1%eth0", "other", 0.0) == 0


def test_what_is_remembered_is_bounded(failures: FailedLogins) -> None:
    for number in range(ENTRIES_MAX + 100):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        fail(failures, address, "x" * 10_000, float(number) / 1000)
        log_in(failures, address, "y", float(number) / 1000)
    assert len(failures) == ENTRIES_MAX
