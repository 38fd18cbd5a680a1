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

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.endpoint import Endpoint
from penstock.protocol.kafka.versioned import field

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.find_coordinator import FindCoordinatorBuilders, FindCoordinatorResponse
    from penstock.protocol.kafka.requests.find_coordinator import FindCoordinatorRequest

    FindCoordinator = Request[FindCoordinatorRequest, FindCoordinatorBuilders]

GROUP, TRANSACTION, SHARE = 0, 1, 2  # Kafka has no words for the latter, either
NOWHERE = Endpoint("", -1)


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
    is_found = code is ErrorCode.NONE
    endpoint = broker.endpoint(request) if is_found else NOWHERE
    node_id = broker.node_id if is_found else -1
    if request.version < 4:
        return request.reply.FindCoordinatorResponse(
            error_code=code,
            error_message=message or "NONE",  # what Kafka says here, and only here
            node_id=node_id,
            host=endpoint.host,
            port=endpoint.port,
        )
    coordinators = [
        request.reply.Coordinator(
            key=key, error_code=code, error_message=message, node_id=node_id, host=endpoint.host, port=endpoint.port
        )
        for key in request.body.coordinator_keys
    ]
    return request.reply.FindCoordinatorResponse(coordinators=coordinators)
