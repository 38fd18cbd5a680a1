"""Logins of a node: whether a password was found right a moment ago is told to nobody who is held off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.net.login.check_threads import CheckThreads
from penstock.net.login.logins import ForeignChecks, Logins
from penstock.security.audit import Audit
from penstock.security.principal import Principal
from penstock.security.sasl.failed_logins import FIRST_SECONDS
from penstock.security.sasl.machine import Challenge, Done, Failed
from penstock.security.sasl.plain import PLAIN
from penstock.security.session import Session
from penstock.security.users.credential import ScramMechanism, make_credential
from penstock.security.users.foreign_passwords import ForeignPasswords
from penstock.security.users.password_cache import PasswordCache
from penstock.security.users.table import UserTable

PASSWORD = "right"
ALICE, GUESSER = Session("CLIENTS", "192.0.2.1"), Session("CLIENTS", "192.0.2.2")


class Directory:
    """An authenticator of another package, which counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def authenticate(self, user: str, password: str) -> Principal | None:
        self.asked += 1
        return Principal("User", user) if password == PASSWORD else None


def logins_of_users() -> Logins:
    users = UserTable(bytes(32))
    users.put("alice", ScramMechanism.SCRAM_SHA_256, make_credential(ScramMechanism.SCRAM_SHA_256, PASSWORD, 4096))
    return Logins(users, Audit(), failure_delay_ms=0, clock=asyncio.get_running_loop().time)


def logins_of_directory(directory: Directory | None = None) -> Logins:
    passwords = ForeignPasswords(directory or Directory(), "directory", PasswordCache())
    foreign = ForeignChecks(passwords, CheckThreads(2, timeout_ms=60_000))
    clock = asyncio.get_running_loop().time
    return Logins(UserTable(bytes(32)), Audit(), failure_delay_ms=0, clock=clock, foreign=foreign)


async def login(logins: Logins, session: Session, password: str) -> Done | Failed:
    step = logins.machine(PLAIN).step(f"\0alice\0{password}".encode(), logins.clock())
    assert not isinstance(step, Challenge | Failed), "nothing is told before it is the attempt's turn"
    return await logins.attempt(session, step)


@pytest.mark.parametrize("made", [logins_of_users, logins_of_directory])
def test_the_right_guess_waits_as_long_as_a_wrong_one(made: Callable[[], Logins]) -> None:
    async def guess() -> float:
        logins = made()
        assert isinstance(await login(logins, ALICE, PASSWORD), Done)
        began_at = logins.clock()
        assert isinstance(await login(logins, GUESSER, "wrong"), Failed)
        assert isinstance(await login(logins, GUESSER, PASSWORD), Done)
        return logins.clock() - began_at

    assert asyncio.run(guess()) >= 0.9 * FIRST_SECONDS, "a timer may be a little early"


def test_a_password_that_was_right_a_moment_ago_is_not_checked_again() -> None:
    async def come_again() -> int:
        directory = Directory()
        logins = logins_of_directory(directory)
        for session in (ALICE, ALICE, GUESSER):
            assert isinstance(await login(logins, session, PASSWORD), Done)
        return directory.asked

    assert asyncio.run(come_again()) == 1
