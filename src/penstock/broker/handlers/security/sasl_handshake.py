"""SaslHandshake (key 17, v0–1): the mechanism by which a client wants to log in.

Behaviour:
- The answer lists the mechanisms of the listener. UNSUPPORTED_SASL_MECHANISM: the one asked for is not among them; the
  connection ends behind the answer.
- A client that has logged in begins a re-authentication (KIP-368) if its session has an end; the mechanism must be that
  of its first login. Until it is done, no other request is taken.
- ILLEGAL_SASL_STATE without a list: on a listener without SASL, where sessions have no end, within a second of the last
  re-authentication, and between the steps of a login, which ends the connection.

Differs from Kafka:
- A re-authentication with another mechanism is refused with a reason by SaslAuthenticate; Kafka closes the connection.

Version notes:
- After v0 the messages of the login are frames without a Kafka header; after v1 they come in SaslAuthenticate.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from penstock.broker.login.channel import SaslChannel
from penstock.broker.login.login import LoginState
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.sasl_handshake import SaslHandshakeBuilders, SaslHandshakeResponse
    from penstock.protocol.kafka.requests.sasl_handshake import SaslHandshakeRequest

    SaslHandshake = Request[SaslHandshakeRequest, SaslHandshakeBuilders]


def handle(
    broker: Broker, request: SaslHandshake
) -> SaslHandshakeResponse | Coroutine[Any, Any, SaslHandshakeResponse]:
    reply, channel = request.reply, request.channel
    if not isinstance(channel, SaslChannel):
        return reply.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
    login = channel.login
    code = login.handshake(request.body.mechanism, request.version)
    mechanisms = () if code is ErrorCode.ILLEGAL_SASL_STATE else login.mechanisms
    answer = reply.SaslHandshakeResponse(error_code=code, mechanisms=mechanisms)
    if login.state is LoginState.FAILED:
        is_unknown = code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
        return channel.refuse(answer, "an unknown mechanism" if is_unknown else "a second handshake")
    if login.state is LoginState.UNDER_WAY:
        channel.suspend()
    return answer
