"""The login of one Kafka connection: which requests may come when, and the exchange that SaslAuthenticate carries.

    NEW              ApiVersions or SaslHandshake
    VERSIONS_KNOWN   SaslHandshake
    UNDER_WAY        SaslAuthenticate, or the bare messages that follow SaslHandshake v0
    DONE             everything; on a listener whose sessions end, SaslHandshake begins a re-authentication (KIP-368)
    FAILED           nothing: the connection ends

Anything else ends the connection. The exchange itself is `broker.login.exchange`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.broker.login.exchange import Exchange, LoggedIn
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.security.sasl.machine import Challenge

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.net.login.logins import Logins
    from penstock.security.listener import ListenerSecurity
    from penstock.security.session import Session


class LoginState(enum.Enum):
    NEW = enum.auto()
    VERSIONS_KNOWN = enum.auto()
    UNDER_WAY = enum.auto()
    DONE = enum.auto()
    FAILED = enum.auto()


class LoginAnswer(NamedTuple):
    """The answer to a message of the client. `session` is the new one of the connection, if it has logged in.

    Without an error the text is empty, not null, as in Kafka.
    """

    code: ErrorCode
    text: str
    message: bytes
    lifetime_ms: int
    session: Session | None


_ADMITTED: Final = {
    LoginState.NEW: (API_VERSIONS, SASL_HANDSHAKE),
    LoginState.VERSIONS_KNOWN: (SASL_HANDSHAKE,),
    # The last two are told that it is not their turn.
    LoginState.UNDER_WAY: (SASL_AUTHENTICATE, SASL_HANDSHAKE, API_VERSIONS),
    LoginState.DONE: (SASL_HANDSHAKE,),
    LoginState.FAILED: (),
}
"""APIs that a session may use while it is not authenticated. One that is DONE has come to its end."""


class Login:
    """Owned by the channel of a connection."""

    __slots__ = ("exchange", "state", "takes_tokens")

    def __init__(self, logins: Logins, listener: ListenerSecurity) -> None:
        self.exchange = Exchange(logins, listener)
        self.state = LoginState.NEW
        self.takes_tokens = False
        """Whether the next frame is a message of the exchange without a Kafka header."""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return self.exchange.mechanisms

    def admit(self, api: Api) -> None:
        """MalformedRequest if a client that has not logged in may not ask for this now."""
        if api.key not in _ADMITTED[self.state]:
            raise MalformedRequest(f"{api.name} {self._out_of_turn()}")

    def _out_of_turn(self) -> str:
        if self.state is LoginState.DONE:
            return "after the end of the session, instead of a new login"
        return "before the client has logged in; it may be set to another security.protocol than this listener"

    def versions_told(self) -> None:
        """Note an answer to ApiVersions; before a login there is one."""
        if self.state is LoginState.NEW:
            self.state = LoginState.VERSIONS_KNOWN

    def handshake(self, mechanism: str, version: int) -> ErrorCode:
        """Choose the mechanism. Unless the answer is NONE or the client has logged in, the login has failed."""
        if self.state is LoginState.UNDER_WAY:
            self.state = LoginState.FAILED
            return ErrorCode.ILLEGAL_SASL_STATE
        if self.state is LoginState.DONE and not self.exchange.may_begin_again():
            return ErrorCode.ILLEGAL_SASL_STATE
        if mechanism not in self.exchange.mechanisms:
            self.exchange.mechanism, self.state = mechanism, LoginState.FAILED
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM
        self.exchange.begin(mechanism)
        self.state, self.takes_tokens = LoginState.UNDER_WAY, version == 0
        return ErrorCode.NONE

    async def authenticate(self, message: bytes, session: Session, heard: Callable[[], None]) -> LoginAnswer:
        """Take the client's next message. The answer to a failure is late: see `net.login`."""
        step = await self.exchange.take(message, session, heard)
        if isinstance(step, Challenge):
            return LoginAnswer(ErrorCode.NONE, "", step.message, 0, None)
        if isinstance(step, LoggedIn):
            self.takes_tokens, self.state = False, LoginState.DONE
            return LoginAnswer(ErrorCode.NONE, "", step.message, step.lifetime_ms, step.session)
        told = self.exchange.told(step)
        await self.end(session, step.reason)
        return LoginAnswer(ErrorCode.SASL_AUTHENTICATION_FAILED, told, b"", 0, None)

    async def end(self, session: Session, reason: str) -> None:
        """Give the login up, and return when the client may learn of it."""
        self.state = LoginState.FAILED
        await self.exchange.end(session, reason)
