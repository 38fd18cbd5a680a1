"""Sessions of browsers, with a clock of the test: idle time, longest time, limits."""

from __future__ import annotations

from penstock.net.http.login.cookie import SessionCookie
from penstock.net.http.login.web_sessions import SESSIONS_MAX, SESSIONS_OF_PRINCIPAL_MAX, WebSessions
from penstock.security.principal import Principal

BOB = Principal("User", "bob")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Holding:
    is_token = False

    def __init__(self) -> None:
        self.is_good = True

    def holds(self) -> bool:
        return self.is_good


def made(clock: Clock) -> WebSessions:
    return WebSessions(SessionCookie(is_secure=True), idle_seconds=10, longest_seconds=100, clock=clock)


def test_a_session_that_is_not_used_ends() -> None:
    clock = Clock()
    sessions = made(clock)
    word = sessions.begin(BOB, Holding()).encode()
    for _ in range(5):
        clock.now += 9.9
        assert sessions.find(word) is not None
    clock.now += 10
    assert sessions.find(word) is None
    assert len(sessions) == 0


def test_a_session_ends_after_its_longest_time() -> None:
    clock = Clock()
    sessions = made(clock)
    word = sessions.begin(BOB, Holding()).encode()
    for _ in range(11):
        clock.now += 9
        assert sessions.find(word) is not None
    clock.now += 1
    assert sessions.find(word) is None


def test_a_session_ends_with_its_proof() -> None:
    proof, sessions = Holding(), made(Clock())
    word = sessions.begin(BOB, proof).encode()
    assert sessions.find(word) is not None
    proof.is_good = False
    assert sessions.find(word) is None
    proof.is_good = True
    assert sessions.find(word) is None


def test_a_principal_ends_only_sessions_of_its_own() -> None:
    sessions = made(Clock())
    of_alice = sessions.begin(Principal("User", "alice"), Holding()).encode()
    words = [sessions.begin(BOB, Holding()).encode() for _ in range(SESSIONS_OF_PRINCIPAL_MAX + 1)]
    assert len(sessions) == SESSIONS_OF_PRINCIPAL_MAX + 1
    assert sessions.find(of_alice) is not None
    assert [sessions.find(word) is None for word in (words[0], words[1])] == [True, False]


def test_there_are_not_more_sessions_than_the_limit() -> None:
    sessions = made(Clock())
    for number in range(SESSIONS_MAX + 5):
        sessions.begin(Principal("User", f"u{number // SESSIONS_OF_PRINCIPAL_MAX}"), Holding())
    assert len(sessions) == SESSIONS_MAX
