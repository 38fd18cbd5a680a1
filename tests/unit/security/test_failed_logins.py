"""Failed logins: how long attempts are held off, and what is remembered."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.security.sasl.failed_logins import (
    ENTRIES_MAX,
    FORGOTTEN_SECONDS,
    LONGEST_SECONDS,
    PATIENCE_SECONDS,
    STEADY_FREE,
    FailedLogins,
)

HERE, THERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def failures() -> FailedLogins:
    return FailedLogins()


def wait(failures: FailedLogins, address: str, user: str, now: float) -> float:
    """How long an attempt waits for its turn that comes now; it is being checked then."""
    at, held = now, failures.come(address, user, now)
    while wait_s := failures.turn(held, at):
        at += wait_s
    assert wait_s is not None, f"{user} was refused unchecked"
    return at - now


class Login:
    """An attempt that asks for its turn, and for an early check until it had one, as `net.login` does."""

    def __init__(self, failures: FailedLogins, address: str, user: str, now: float, *, is_right: bool = False) -> None:
        self.failures = failures
        self.held = failures.come(address, user, now)
        self.is_right = is_right
        self.turn_at = self.early_at = now
        self.checked_at: float | None = None
        self.told_at: float | None = None

    @property
    def next_at(self) -> float:
        return min(self.turn_at, self.early_at)

    def go_on(self) -> None:
        """Ask for what is due; the check takes no time."""
        now = self.next_at
        if self.turn_at == now:
            wait_s = self.failures.turn(self.held, now)
            if not wait_s:
                self._end(now, was_checked=wait_s is not None)
                return
            self.turn_at = now + wait_s
        if self.early_at == now:
            wait_s = self.failures.early(self.held, now)
            self.early_at = now + wait_s if wait_s else math.inf
            if wait_s == 0:
                self._check_early(now)

    def _check_early(self, now: float) -> None:
        self.checked_at = now
        if self.is_right:
            self.told_at = now
            self.failures.succeeded(self.held, now)
        else:
            self.failures.early_failed(self.held, now)

    def _end(self, now: float, *, was_checked: bool) -> None:
        self.told_at = now
        if not was_checked:
            return
        self.checked_at = now if self.checked_at is None else self.checked_at
        (self.failures.succeeded if self.is_right else self.failures.failed)(self.held, now)

    def run(self) -> float:
        """How long the client waits for the answer."""
        while self.told_at is None:
            self.go_on()
        assert self.checked_at is not None, f"{self.held.key} was refused unchecked"
        return self.told_at - self.held.came_at


def run_all(logins: list[Login], until: float = math.inf) -> None:
    """Attempts side by side; among those that ask at the same time, the first in the list is the first."""
    while waiting := [login for login in logins if login.told_at is None and login.next_at <= until]:
        min(waiting, key=lambda login: login.next_at).go_on()


def fail(failures: FailedLogins, address: str, user: str, now: float) -> float:
    """How long an attempt waits for its answer that comes now, and is wrong."""
    return Login(failures, address, user, now).run()


def log_in(failures: FailedLogins, address: str, user: str, now: float) -> float:
    return Login(failures, address, user, now, is_right=True).run()


def fail_all_at_once(failures: FailedLogins, user: str, number: int, until: float) -> list[float]:
    """The times at which attempts are checked that all come at 0, whoever of them is served first."""
    logins = [Login(failures, HERE, user, 0.0) for _ in range(number)]
    run_all(logins, until)
    return sorted(login.checked_at for login in logins if login.checked_at is not None)


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
    times = [0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 22.7, 32.7, 42.7, 52.7]
    assert fail_all_at_once(failures, "alice", 300, 2 * PATIENCE_SECONDS) == pytest.approx(times)


def test_attempts_that_are_being_checked_hold_off_others(failures: FailedLogins) -> None:
    """None of them has failed yet, and may never do: a client that goes away before it is told has guessed, too."""
    assert [failures.turn(failures.come(HERE, "alice", 0.0), 0.0) for _ in range(3)] == pytest.approx([0, 0.1, 0.1])
    names = [f"user {number}" for number in range(STEADY_FREE + 3)]
    waits = [failures.turn(failures.come(THERE, name, 0.0), 0.0) for name in names]
    assert waits == pytest.approx([0] * STEADY_FREE + [0.1] * 3)


def test_clients_that_log_in_at_once_wait_for_the_first_alone(failures: FailedLogins) -> None:
    first = failures.come(HERE, "alice", 0.0)
    assert failures.turn(first, 0.0) == 0
    others = [failures.come(HERE, "alice", 0.0) for _ in range(STEADY_FREE)]
    assert failures.turn(others[0], 0.0) == pytest.approx(0.1)
    failures.succeeded(first, 0.05)
    assert [0 in (failures.turn(each, 0.1), failures.early(each, 0.1)) for each in others] == [True] * STEADY_FREE


def test_many_users_that_log_in_at_once_are_not_held_to_one_a_second(failures: FailedLogins) -> None:
    held = []
    for number in range(200):
        held.append(failures.come(HERE, f"user {number}", number / 100))
        assert failures.turn(held[-1], number / 100) == 0
        if number >= STEADY_FREE - 2:
            failures.succeeded(held[number - STEADY_FREE + 2], number / 100)


def test_an_address_is_held_to_one_attempt_a_second_whatever_the_names(failures: FailedLogins) -> None:
    for number in range(STEADY_FREE):
        assert fail(failures, HERE, f"user {number}", 0.0) == 0
    waits = [fail(failures, HERE, f"other {number}", 0.0) for number in range(10)]
    assert waits == pytest.approx([*range(1, 11)])
    late = failures.come(HERE, "late", 0.0)
    fail(failures, HERE, "before it", PATIENCE_SECONDS - 0.5)
    assert failures.turn(late, PATIENCE_SECONDS - 0.1) == pytest.approx(0.1)
    assert failures.turn(late, PATIENCE_SECONDS) is None


def test_a_user_that_has_logged_in_there_before_is_not_held_off_by_others(failures: FailedLogins) -> None:
    for user in ("alice", "bob"):
        log_in(failures, HERE, user, 0.0)
    names = [name for number in range(30) for name in (f"user {number}", "alice")]
    run_all([Login(failures, HERE, name, index / 2) for index, name in enumerate(names)], 30.0)
    assert log_in(failures, HERE, "bob", 30.0) == 0
    assert log_in(failures, HERE, "alice", 30.0) <= 1
    assert wait(failures, HERE, "carol", 30.0) > 0


def test_a_user_that_has_logged_in_there_before_is_not_locked_out_by_guesses_at_it(failures: FailedLogins) -> None:
    log_in(failures, HERE, "alice", 0.0)
    guesses = [Login(failures, HERE, "alice", 0.0) for _ in range(100)]
    run_all(guesses, 30.0)
    early = [guess for guess in guesses if guess.checked_at is not None]
    assert 30 <= len(early) <= 30 + 2 * STEADY_FREE, "ten at once, then one a second"
    assert log_in(failures, HERE, "alice", 30.5) <= 1
    assert [log_in(failures, HERE, "alice", 32.5) for _ in range(50)] == [0] * 50, "they take nothing from each other"
    more = [Login(failures, HERE, "alice", 32.5) for _ in range(10)]
    run_all(more, 33.4)
    assert sum(guess.checked_at is not None for guess in more) <= 2, "logins have helped those that guess"


def test_guesses_at_several_users_that_log_in_from_there_are_one_a_second(failures: FailedLogins) -> None:
    users = [f"user {number}" for number in range(4)]
    for user in users:
        log_in(failures, HERE, user, 0.0)
    guesses = [Login(failures, HERE, user, 0.0) for _ in range(50) for user in users]
    run_all(guesses, 20.0)
    checked = [guess.checked_at for guess in guesses if guess.checked_at is not None]
    told = [guess for guess in guesses if guess.told_at is not None]
    assert len(told) <= STEADY_FREE + 20, "as at users that are none"
    assert sum(at > 1 for at in checked) <= 2 * 20, "one a second in its turn, one before"


def test_wrong_attempts_at_a_user_that_logs_in_from_there_are_forgotten(failures: FailedLogins) -> None:
    for user in ("alice", "bob"):
        log_in(failures, HERE, user, 0.0)
    run_all([Login(failures, HERE, user, 0.0) for _ in range(20) for user in ("alice", "bob")], PATIENCE_SECONDS)
    later = FORGOTTEN_SECONDS + PATIENCE_SECONDS + 1
    run_all([Login(failures, HERE, f"user {number}", later) for number in range(STEADY_FREE)])
    assert log_in(failures, HERE, "alice", later) == 0


ATTEMPTS = st.lists(
    st.tuples(st.floats(0, 30), st.sampled_from(["welcome", "other", "nobody", "somebody"])), min_size=1, max_size=60
)


@given(ATTEMPTS)
def test_nobody_sees_from_the_time_of_an_answer_who_logs_in_from_where(attempts: list[tuple[float, str]]) -> None:
    """The same wrong attempts are answered at the same times, whether or not some of the users are welcome."""
    told = []
    for welcome in ([], ["welcome"], ["welcome", "other"]):
        failures = FailedLogins()
        for user in welcome:
            log_in(failures, HERE, user, 0.0)
        logins = [Login(failures, HERE, user, at + 1) for at, user in attempts]
        run_all(logins)
        told.append([login.told_at for login in logins])
    assert told[0] == told[1] == told[2]


@given(ATTEMPTS)
def test_a_user_at_whom_nobody_guesses_gets_in_at_once(attempts: list[tuple[float, str]]) -> None:
    failures = FailedLogins()
    for user in ("welcome", "me"):
        log_in(failures, HERE, user, 0.0)
    run_all([Login(failures, HERE, user, at + 1) for at, user in attempts], 20.0)
    assert log_in(failures, HERE, "me", 20.0) == 0


@given(ATTEMPTS)
def test_wrong_attempts_are_checked_about_once_a_second(attempts: list[tuple[float, str]]) -> None:
    failures = FailedLogins()
    users = ("welcome", "other")
    for user in users:
        log_in(failures, HERE, user, 0.0)
    logins = [Login(failures, HERE, user, at + 1) for at, user in attempts]
    run_all(logins)
    checked = sorted(login.checked_at for login in logins if login.checked_at is not None)
    begun = 2 * STEADY_FREE + len(users)  # at once: in turn, early, and the first at each user
    for first, last in zip(checked, checked[begun + 6 :], strict=False):
        assert last - first > 2, "in three seconds, three in turn and three early"


def test_a_user_that_waits_does_not_hold_off_others_at_its_address(failures: FailedLogins) -> None:
    now = 0.0
    for _ in range(STEADY_FREE - 1):
        now += fail(failures, HERE, "alice", now)
    assert failures.turn(failures.come(HERE, "alice", now), now) == pytest.approx(LONGEST_SECONDS)
    assert wait(failures, HERE, "carol", now) == 0


def test_nobody_is_locked_out_from_another_address(failures: FailedLogins) -> None:
    fail_all_at_once(failures, "alice", 100, 60.0)
    assert wait(failures, THERE, "alice", 6.3) == 0


def test_a_login_ends_the_wait_of_the_user(failures: FailedLogins) -> None:
    now = 0.0
    for _ in range(8):
        now += fail(failures, HERE, "alice", now)
    now += log_in(failures, HERE, "alice", now)
    assert log_in(failures, HERE, "alice", now) == 0


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


def test_addresses_of_ipv4_inside_ipv6_are_not_one(failures: FailedLogins) -> None:
    for number in range(STEADY_FREE):
        fail(failures, "::ffff:10.0.0.1", f"user {number}", 0.0)
    assert wait(failures, "10.0.0.1", "other", 0.0) > 0
    assert wait(failures, "::ffff:10.0.0.2", "other", 0.0) == 0


def test_what_is_remembered_is_bounded(failures: FailedLogins) -> None:
    for number in range(ENTRIES_MAX + 100):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        fail(failures, address, "x" * 10_000, float(number) / 1000)
        log_in(failures, address, "y", float(number) / 1000)
    assert len(failures) == ENTRIES_MAX
