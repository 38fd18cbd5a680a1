"""SyncGroup (key 14, v0–5): bring the assignment, if the member leads, and get one's own part.

Behaviour:
- Members wait for the leader's assignment, which is stored before anyone gets it.

Differs from Kafka:
- A sync that the same member's next one replaces is answered with REBALANCE_IN_PROGRESS; Kafka never answers it.
- An assignment that finds no room in `limits.group_metadata_bytes_max` is refused with COORDINATOR_NOT_AVAILABLE.

Version notes:
- v3 adds static members; v5 requires the protocol that the member believes in (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import SyncAnswer, SyncRequest
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.sync_group import SyncGroupBuilders, SyncGroupResponse
    from penstock.protocol.kafka.requests.sync_group import SyncGroupRequest

    SyncGroup = Request[SyncGroupRequest, SyncGroupBuilders]


async def handle(broker: Broker, request: SyncGroup) -> SyncGroupResponse:
    try:
        group_id = request.body.group_id
        broker.access.check_group(request.session, Operation.READ, group_id)
        answer = await broker.groups.classic.sync(group_id, _request(request))
    except KafkaError as error:
        answer = SyncAnswer(error=error.code)
    return request.reply.SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


def _request(request: SyncGroup) -> SyncRequest:
    body = request.take_body()  # the answer may take minutes
    protocol = (field(body, "protocol_type"), field(body, "protocol_name"))
    if request.version >= 5 and None in protocol:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return SyncRequest(
        who=Identity(body.member_id, field(body, "group_instance_id")),
        generation=body.generation_id,
        protocol_type=protocol[0],
        protocol_name=protocol[1],
        assignments={item.member_id: bytes(item.assignment) for item in body.assignments},
    )
