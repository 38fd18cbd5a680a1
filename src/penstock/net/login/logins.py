"""The logins of a node: machines by mechanism, and attempts checked in their turn, off the loop where that takes long.

One for all doors, so that a client that guesses passwords is held off wherever it tries.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.net.login.login_turns import LoginTurns
from penstock.security.sasl.failed_logins import FailedLogins
from penstock.security.sasl.machine import Attempt, Done, Failed, Machine
from penstock.security.sasl.plain import PLAIN, PlainMachine
from penstock.security.users.credential import ScramMechanism
from penstock.security.users.password_cache import PasswordCache
from penstock.security.users.passwords import WRONG, Passwords, StoredPasswords

if TYPE_CHECKING:
    from penstock.net.login.check_threads import CheckThreads
    from penstock.security.audit import Audit
    from penstock.security.session import Session
    from penstock.security.users.foreign_passwords import ForeignPasswords
    from penstock.security.users.table import UserTable

CHECKS_AT_ONCE: Final = 2
"""Threads that compute password hashes at a time: others need theirs, and the processor."""

CHANCE_SECONDS: Final = 0.05
"""The most that chance adds to a wait."""

_SCRAM: Final = {mechanism.title: mechanism for mechanism in ScramMechanism}
MECHANISMS: Final = (*_SCRAM, PLAIN)


class ForeignChecks(NamedTuple):
    """Passwords that an authenticator of another package checks, and the threads in which it does."""

    passwords: ForeignPasswords
    threads: CheckThreads


class Logins:
    """`clock` is monotonic, in seconds. `failure_delay_ms` passes before a client learns that its login has failed.

    With `foreign` the passwords of PLAIN and HTTP are checked there; SCRAM needs the node's own users.
    """

    def __init__(
        self,
        users: UserTable,
        audit: Audit,
        *,
        failure_delay_ms: int,
        clock: Callable[[], float],
        foreign: ForeignChecks | None = None,
    ) -> None:
        self.clock = clock
        self._users = users
        self.audit = audit
        self._failure_delay_s = failure_delay_ms / 1000
        self._passwords: Passwords = StoredPasswords(users, PasswordCache()) if foreign is None else foreign.passwords
        self._threads = None if foreign is None else foreign.threads
        self._failures = FailedLogins()
        self._checks = asyncio.Semaphore(CHECKS_AT_ONCE)
        self.turns = LoginTurns()

    @property
    def has_authenticator(self) -> bool:
        """Whether passwords are those of another system."""
        return self._threads is not None

    def machine(self, mechanism: str) -> Machine:
        """The machine of a new login with one of `MECHANISMS`."""
        if mechanism == PLAIN:
            return PlainMachine(self._passwords)
        from penstock.security.sasl.scram import ScramMachine  # scramp is loaded with the first listener that has SASL

        return ScramMachine(_SCRAM[mechanism], self._users)

    async def attempt(self, session: Session, attempt: Attempt) -> Done | Failed:
        """Check a proof when it is its turn."""
        if not await self._has_turn(session.host, attempt.user):
            return Failed("too many attempts before it")
        outcome: Done | Failed | None = None
        try:
            outcome = await self._check_in_thread(attempt) if attempt.is_slow else attempt.check(self.clock())
            if isinstance(outcome, Done) and not attempt.is_current():
                # A password is told as a wrong one is: that it was right until now is nobody's business.
                outcome = Failed("the credential was changed meanwhile", WRONG if attempt.is_slow else None)
            return outcome
        finally:  # also if the client has gone meanwhile: its attempt has had its turn
            if isinstance(outcome, Done):
                self._failures.succeeded(session.host, attempt.user, self.clock())
            else:
                self._failures.failed(session.host, attempt.user, self.clock())

    async def _has_turn(self, host: str, user: str) -> bool:
        """Wait for a turn; False if there was none in time.

        Which of those that wait is next is left to chance, so that a crowd of connections that guess is not always
        before a client that knows its password.
        """
        came_at = self.clock()
        while True:
            wait_s = self._failures.turn(host, user, self.clock(), came_at)
            if not wait_s:
                return wait_s is not None
            await asyncio.sleep(wait_s + random.uniform(0, CHANCE_SECONDS))

    async def _check_in_thread(self, attempt: Attempt) -> Done | Failed:
        remembered = attempt.remembered(self.clock())
        if remembered is not None:
            return remembered
        if self._threads is None:
            async with self._checks:
                return await asyncio.to_thread(attempt.check, self.clock())
        try:
            return await self._threads.run(partial(attempt.check, self.clock()))
        except TimeoutError:
            return Failed("the authenticator has not answered in time", WRONG)

    def succeeded(self, session: Session, mechanism: str) -> None:
        """Note a login; the session has its principal."""
        self.audit.logged_in(session, mechanism)

    async def failed(self, session: Session, mechanism: str, user: str, reason: str) -> None:
        """Note a login that failed, and return when the client may learn of it."""
        self.audit.login_failed(session, mechanism, user, reason)
        await asyncio.sleep(self._failure_delay_s)
