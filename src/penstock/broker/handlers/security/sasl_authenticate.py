"""SaslAuthenticate (key 36, v0–2): the messages of a client's login.

Behaviour:
- PLAIN takes one message; SCRAM-SHA-256 and SCRAM-SHA-512 take two. The last answer has the session's lifetime, 0
  without an end.
- SASL_AUTHENTICATION_FAILED: wrong credentials, whether or not there is such a user, or another user than before at a
  re-authentication. The answer comes after `sasl.failed_authentication_delay_ms`, and the connection ends behind it.
  Further attempts of the same user from the same address are held off for longer and longer, 10 s at most.
- ILLEGAL_SASL_STATE where there is no login under way: on a listener without SASL, and after a login.

Differs from Kafka:
- Other requests between the steps of a login end the connection without an answer, except ApiVersions and
  SaslHandshake; Kafka answers all of them ILLEGAL_SASL_STATE.
- Failed attempts are held off; in Kafka every attempt is checked at once.
- SCRAM takes names by SASLprep, no authorization id and no delegation tokens; a message has 1 KiB at most, one of
  PLAIN 8 KiB.

Version notes:
- v1 adds the session's lifetime; v2 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.login.channel import SaslChannel
from penstock.broker.login.login import LoginState
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.sasl_authenticate import SaslAuthenticateBuilders, SaslAuthenticateResponse
    from penstock.protocol.kafka.requests.sasl_authenticate import SaslAuthenticateRequest

    SaslAuthenticate = Request[SaslAuthenticateRequest, SaslAuthenticateBuilders]

_NO_LOGIN = "SaslAuthenticate request received after successful authentication"


async def handle(broker: Broker, request: SaslAuthenticate) -> SaslAuthenticateResponse:
    reply, channel = request.reply, request.channel
    if not isinstance(channel, SaslChannel) or channel.login.state is not LoginState.UNDER_WAY:
        return reply.SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=_NO_LOGIN, auth_bytes=b""
        )
    answer = await channel.authenticate(bytes(request.body.auth_bytes))
    return reply.SaslAuthenticateResponse(
        error_code=answer.code,
        error_message=answer.text,
        auth_bytes=answer.message,
        session_lifetime=answer.lifetime_ms,
    )
