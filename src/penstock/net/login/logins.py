"""The logins of a node: machines by mechanism, and attempts checked in their turn, off the loop where that takes long.

One for all doors, so that a client that guesses passwords is held off wherever it tries.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.net.login.login_turns import LoginTurns
from penstock.security.sasl.failed_logins import FailedLogins, Held
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


class _Known(NamedTuple):
    """The outcome of an early check, and the time that it took."""

    outcome: Done | Failed
    seconds: float


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
        """Check a proof when it is its turn, or before that, and return when the outcome may be told.

        Which of those that wait is next is left to chance, so that a crowd of connections that guess is not always
        before a client that knows its password.
        """
        held = self._failures.come(session.host, attempt.user, self.clock())
        known: _Known | None = None
        turn_at = early_at = held.came_at  # when it asks next; the times of its turn are those of all other users
        while True:
            if self.clock() >= turn_at:
                wait_s = self._failures.turn(held, self.clock())
                if wait_s is None:
                    return Failed("too many attempts before it")
                if not wait_s:
                    return await self._in_turn(held, attempt, known)
                turn_at = self._later(wait_s)
            if self.clock() >= early_at:
                wait_s = self._failures.early(held, self.clock())
                if wait_s == 0:
                    known = await self._early(held, attempt)
                    if isinstance(known.outcome, Done):
                        return known.outcome
                early_at = self._later(wait_s) if wait_s else math.inf
            await asyncio.sleep(max(0.0, min(turn_at, early_at) - self.clock()))

    def _later(self, wait_s: float) -> float:
        return self.clock() + wait_s + random.uniform(0, CHANCE_SECONDS)

    async def _in_turn(self, held: Held, attempt: Attempt, known: _Known | None) -> Done | Failed:
        """The outcome of an attempt that has its turn; one that is known takes as long as it took to find out."""
        outcome: Done | Failed | None = None
        try:
            if known is None:
                outcome = await self._check(attempt)
            else:
                await asyncio.sleep(known.seconds)
                outcome = known.outcome
            return outcome
        finally:  # also if the client has gone meanwhile: its attempt has had its turn
            if isinstance(outcome, Done):
                self._failures.succeeded(held, self.clock())
            else:
                self._failures.failed(held, self.clock())

    async def _early(self, held: Held, attempt: Attempt) -> _Known:
        began_at = self.clock()
        outcome: Done | Failed | None = None
        try:
            outcome = await self._check(attempt)
            return _Known(outcome, self.clock() - began_at)
        finally:
            if isinstance(outcome, Done):
                self._failures.succeeded(held, self.clock())
            else:
                self._failures.early_failed(held, self.clock())

    async def _check(self, attempt: Attempt) -> Done | Failed:
        outcome = await self._check_in_thread(attempt) if attempt.is_slow else attempt.check(self.clock())
        if isinstance(outcome, Done) and not attempt.is_current():
            # A password is told as a wrong one is: that it was right until now is nobody's business.
            return Failed("the credential was changed meanwhile", WRONG if attempt.is_slow else None)
        return outcome

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
