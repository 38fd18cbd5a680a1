"""The login of one push connection on a listener with SASL: the exchange that AUTHENTICATE carries.

Each AUTHENTICATE is a step and names its mechanism. The first of a login begins the exchange, those behind it go on
with it. Until the login is done the table of `protocol.push.states` lets nothing else in. Behind a failure the
connection ends. A client whose session has an end logs in again before it (KIP-368): its other frames are served
meanwhile. At the end it is disconnected, since a member is sent messages without asking for them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from penstock.broker.login.exchange import LoggedIn
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.messages import Authenticate, AuthenticateAck
from penstock.security.sasl.machine import Challenge

if TYPE_CHECKING:
    from penstock.broker.login.exchange import Exchange
    from penstock.broker.push.connection import PushConnection

MECHANISM_CHARACTERS_MAX: Final = 100
"""Of a mechanism that does not exist, in the log and in the answer."""
SESSION_OVER: Final = "the session has ended; connect and log in again"


class LoginRefused(KafkaError):
    """A login that failed: the client is told, and the connection ends."""


class PushLogin:
    """Owned by its connection."""

    __slots__ = ("_connection", "_ending", "_exchange")

    def __init__(self, connection: PushConnection, exchange: Exchange) -> None:
        self._connection = connection
        self._exchange = exchange
        self._ending: asyncio.TimerHandle | None = None

    async def take(self, request: Authenticate) -> AuthenticateAck:
        """Take a step. Raises LoginRefused, late enough for a client that guesses."""
        exchange = self._exchange
        if not exchange.is_under_way:
            await self._begin(request.mechanism)
        elif request.mechanism != exchange.mechanism:
            text = "another mechanism in the middle of a login"
            raise await self._failed(ErrorCode.ILLEGAL_SASL_STATE, text, text)
        step = await exchange.take(request.message, self._connection.session, self._connection.login_heard)
        if isinstance(step, Challenge):
            return AuthenticateAck(step.message)
        if isinstance(step, LoggedIn):
            self._begin_session(step)
            return AuthenticateAck(step.message, step.lifetime_ms)
        raise await self._failed(ErrorCode.SASL_AUTHENTICATION_FAILED, exchange.told(step), step.reason)

    async def _begin(self, mechanism: str) -> None:
        """Begin an exchange. KafkaError if the client has logged in, and has no reason to do so again."""
        exchange = self._exchange
        if exchange.has_logged_in and not exchange.may_begin_again():
            text = "this client has logged in, and its session does not end soon; there is nothing to renew"
            raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, text)
        if mechanism not in exchange.mechanisms:
            exchange.mechanism = mechanism[:MECHANISM_CHARACTERS_MAX]
            offered = ", ".join(exchange.mechanisms)
            text = f"this listener has no mechanism {exchange.mechanism!r}; set sasl.mechanism to one of {offered}"
            raise await self._failed(ErrorCode.UNSUPPORTED_SASL_MECHANISM, text, "a mechanism that is not offered")
        exchange.begin(mechanism)

    async def _failed(self, code: ErrorCode, told: str, reason: str) -> LoginRefused:
        await self._exchange.end(self._connection.session, reason)
        return LoginRefused(code, told)

    def _begin_session(self, begun: LoggedIn) -> None:
        self.close()
        if begun.lifetime_ms:
            loop, connection = asyncio.get_running_loop(), self._connection
            self._ending = loop.call_later(begun.lifetime_ms / 1000, connection.disconnect, SESSION_OVER)
        self._connection.logged_in(begun.session)

    def close(self) -> None:
        """Let the session's end be: the connection has ended, or a new session begins."""
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
