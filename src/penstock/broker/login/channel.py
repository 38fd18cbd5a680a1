"""The channel of a connection to a listener with SASL.

It is a KafkaChannel that has a login. Its session is not authenticated until the login is done, nor while the client
re-authenticates, nor after the session's end, so that the gate asks the login about every request then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from penstock.broker.channel import KafkaChannel
from penstock.model.errors import ErrorCode
from penstock.net.reply import Buffers, Reply
from penstock.protocol.kafka.apis import SASL_AUTHENTICATE
from penstock.protocol.kafka.primitives import MalformedRequest

if TYPE_CHECKING:
    from penstock.broker.gate import Gate
    from penstock.broker.login.login import Login, LoginAnswer
    from penstock.net.service import Stream
    from penstock.security.session import Session

IN_AUDIT_LOG: Final = ""
"""The reason to end a connection of which there is a line already."""
Answer = TypeVar("Answer")


class SaslChannel(KafkaChannel):
    """Made by the gate for each connection."""

    __slots__ = ("login",)

    def __init__(self, gate: Gate, stream: Stream, session: Session, login: Login) -> None:
        super().__init__(gate, stream, session)
        self.login = login

    def serve(self, frame: memoryview) -> Reply:
        login = self.login
        if login.takes_tokens:
            reply = Reply.when(self._take_token(bytes(frame)))
            reply.api_key = SASL_AUTHENTICATE
            return reply
        exchange = login.exchange
        if exchange.expires_at and exchange.has_expired:
            self.suspend()
        return super().serve(frame)

    def suspend(self) -> None:
        """Admit nothing but a login from now on."""
        if self.session.authenticated:
            self.renew(self.session._replace(authenticated=False))

    async def refuse(self, answer: Answer, reason: str) -> Answer:
        """Give the login up: the answer leaves when the client may learn of it, and the connection ends behind it."""
        await self.login.end(self.session, reason)
        self._stream.finish()
        return answer

    async def authenticate(self, message: bytes) -> LoginAnswer:
        """Take the next message of the login; behind a refusal the connection ends."""
        answer = await self.login.authenticate(message, self.session, self._stream.heard)
        if answer.session is not None:
            self.renew(answer.session)
        elif answer.code is not ErrorCode.NONE:
            self._stream.finish()
        return answer

    async def _take_token(self, token: bytes) -> Buffers:
        """Answer a message of the exchange that has no Kafka header (SaslHandshake v0); a failure has no answer."""
        answer = await self.authenticate(token)
        if answer.code is not ErrorCode.NONE:
            raise MalformedRequest(IN_AUDIT_LOG)
        return [answer.message]
