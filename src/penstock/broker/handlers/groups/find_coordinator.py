"""FindCoordinator (key 10, v0–6): the broker that coordinates a group or a transaction.

Behaviour:
- On a single node this one, at the address that the client came in on.

Differs from Kafka:
- There are no share groups yet: their type is refused at once with INVALID_REQUEST, which no client retries.

Version notes:
- v0 knows groups only; v1 adds a key type: 0 group, 1 transaction, 2 share group (v6).
- v4 takes several keys at once, each with its own error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.endpoint import Endpoint
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.find_coordinator import FindCoordinatorBuilders, FindCoordinatorResponse
    from penstock.protocol.kafka.requests.find_coordinator import FindCoordinatorRequest

    FindCoordinator = Request[FindCoordinatorRequest, FindCoordinatorBuilders]

GROUP, TRANSACTION, SHARE = 0, 1, 2  # Kafka has no words for the latter, either
NOWHERE = Endpoint("", -1)
_TEXTS = {
    ErrorCode.NONE: "NONE",
    ErrorCode.INVALID_REQUEST: "This most likely occurs because of a request being malformed by the client library or"
    " the message was sent to an incompatible broker. See the broker logs for more details.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""What Kafka says in versions before 4, and only there."""


async def handle(broker: Broker, request: FindCoordinator) -> FindCoordinatorResponse:
    code, message = ErrorCode.NONE, ""
    key_type = field(request.body, "key_type", GROUP)
    if key_type not in (GROUP, TRANSACTION):
        code = ErrorCode.INVALID_REQUEST
        message = "" if key_type == SHARE else f"coordinators of type {key_type} do not exist here"
    else:
        try:
            await (broker.groups if key_type == GROUP else broker.transactions).prepare()
        except KafkaError as error:
            code, message = ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)
    if request.version < 4:
        place = _place(broker, request, code, key_type, request.body.key)
        return request.reply.FindCoordinatorResponse(
            error_code=place.code,
            error_message=message or _TEXTS.get(place.code, ""),
            node_id=place.node_id,
            host=place.endpoint.host,
            port=place.endpoint.port,
        )
    coordinators, turns = [], Turns()
    for key in request.body.coordinator_keys:
        place = _place(broker, request, code, key_type, key)
        coordinators.append(
            request.reply.Coordinator(
                key=key,
                error_code=place.code,
                error_message=message,
                node_id=place.node_id,
                host=place.endpoint.host,
                port=place.endpoint.port,
            )
        )
        await turns.pause()
    return request.reply.FindCoordinatorResponse(coordinators=coordinators)


class _Place(NamedTuple):
    """The coordinator of one key, or the error."""

    code: ErrorCode
    node_id: int
    endpoint: Endpoint


def _place(broker: Broker, request: FindCoordinator, code: ErrorCode, key_type: int, key: str) -> _Place:
    try:
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        if key_type == GROUP:
            broker.access.check_group(request.session, Operation.DESCRIBE, key)
        else:
            broker.access.check_transactional_id(request.session, Operation.DESCRIBE, key)
    except KafkaError as error:
        return _Place(error.code, -1, NOWHERE)
    return _Place(ErrorCode.NONE, broker.node_id, broker.endpoint(request))
