"""The exchange of SASL messages on one connection, whichever door it came through: its machine, and who logged in.

It knows nothing of requests and frames. The Kafka door has it behind SaslHandshake and SaslAuthenticate, the push door
behind AUTHENTICATE; waiting, and the choice when to check, are those of `net.login`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.security.principal import Principal
from penstock.security.sasl.machine import Challenge, Done, Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.net.login.logins import Logins
    from penstock.security.listener import ListenerSecurity
    from penstock.security.sasl.machine import Machine, Step
    from penstock.security.session import Session

AGAIN_AFTER_SECONDS: Final = 1.0
"""A client that re-authenticates more often than this is refused, as in Kafka."""


class LoggedIn(NamedTuple):
    """The new session of a connection, and its lifetime; 0: it has no end."""

    session: Session
    message: bytes
    lifetime_ms: int


class Exchange:
    """Owned by the login of a connection."""

    __slots__ = ("_again_from", "_listener", "_logins", "_machine", "_principal", "_user", "expires_at", "mechanism")

    def __init__(self, logins: Logins, listener: ListenerSecurity) -> None:
        self._logins = logins
        self._listener = listener
        self._machine: Machine | None = None
        self._principal: Principal | None = None  # of a client that has logged in and may do so again
        self._user = ""
        self._again_from = 0.0
        self.mechanism = ""
        self.expires_at = 0.0
        """When the session ends; 0 if it does not."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return self._listener.mechanisms

    @property
    def is_under_way(self) -> bool:
        return self._machine is not None

    @property
    def has_logged_in(self) -> bool:
        return self._principal is not None

    @property
    def has_expired(self) -> bool:
        return self.expires_at > 0 and self._logins.clock() >= self.expires_at

    def may_begin_again(self) -> bool:
        """Whether a client that has logged in may do so again: if its session has an end, and not all the time."""
        now = self._logins.clock()
        if not self.expires_at or now < self._again_from:
            return False
        self._again_from = now + AGAIN_AFTER_SECONDS
        return True

    def begin(self, mechanism: str) -> None:
        """Begin with one of `mechanisms`."""
        if self._principal is not None and mechanism != self.mechanism:
            self._machine = _OtherMechanism(mechanism, self.mechanism)
        else:
            self._machine, self.mechanism = self._logins.machine(mechanism), mechanism

    async def take(self, message: bytes, session: Session, heard: Callable[[], None]) -> Challenge | LoggedIn | Failed:
        """Take the client's next message. Behind a failure the caller calls `end`.

        `heard` is called when the client has done its part: the check may have to wait for its turn.
        """
        machine, self._user = self._machine, ""
        assert machine is not None, "taken only while an exchange is under way"
        await self._logins.turns.take()
        step: Step = machine.step(message, self._logins.clock())
        if isinstance(step, Challenge | Failed):
            return step
        self._user = step.user
        heard()
        outcome = await self._logins.attempt(session, step)
        if isinstance(outcome, Done):
            outcome = self._unchanged(outcome)
        return self._logged_in(outcome, session) if isinstance(outcome, Done) else outcome

    def _unchanged(self, done: Done) -> Done | Failed:
        """The same, unless a client that logs in again is another than before."""
        before, after = self._principal, done.who
        if before is None or before == after:
            return done
        told = f"Cannot change principals during re-authentication from {before.type}.{before.name}: "
        return Failed("another user than before", f"{told}{after.type}.{after.name}")

    def _logged_in(self, done: Done, session: Session) -> LoggedIn:
        self._principal = done.who
        self._machine = None
        lifetime_ms = self._listener.session_ms_max
        self.expires_at = self._logins.clock() + lifetime_ms / 1000 if lifetime_ms else 0.0
        session = session.with_principal(self._principal)
        self._logins.succeeded(session, self.mechanism)
        return LoggedIn(session, done.message, lifetime_ms)

    def told(self, failure: Failed) -> str:
        """The text of a failure for the client: it does not tell whether there is such a user."""
        return failure.told or (
            f"Authentication failed during {'authentication' if self._principal is None else 're-authentication'}"
            f" due to invalid credentials with SASL mechanism {self.mechanism}"
        )

    async def end(self, session: Session, reason: str) -> None:
        """Give the login up, and return when the client may learn of it."""
        self._machine = None
        await self._logins.failed(session, self.mechanism, self._user, reason)


class _OtherMechanism:
    """The machine of a client that logs in again with another mechanism than before: it fails."""

    def __init__(self, asked: str, before: str) -> None:
        self._told = (
            f"SASL mechanism '{asked}' requested by client is not supported for re-authentication of mechanism"
            f" '{before}'"
        )

    def step(self, message: bytes, now: float) -> Step:
        return Failed("another mechanism than before", self._told)
