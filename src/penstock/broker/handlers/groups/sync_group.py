"""SyncGroup v0-5: the leader brings the assignment, everybody gets their part of it.

Versions:
- v3 static members; v5 the member says which protocol it believes in, and must (KIP-559).
"""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.groups.exchange import SyncAnswer
from penstock.broker.groups.group import Identity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field


async def handle(broker: Broker, call: Call) -> Entity:
    try:
        answer = await _sync(broker, call)
    except KafkaError as error:
        answer = SyncAnswer(error=error.code)
    return call.reply.SyncGroupResponse(
        throttle_time=0,
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        assignment=answer.assignment,
    )


async def _sync(broker: Broker, call: Call) -> SyncAnswer:
    request = call.request
    protocol = (field(request, "protocol_type"), field(request, "protocol_name"))
    if call.version >= 5 and None in protocol:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return await broker.groups.sync(
        request.group_id,
        Identity(request.member_id, field(request, "group_instance_id")),
        request.generation_id,
        protocol,
        {item.member_id: bytes(item.assignment) for item in request.assignments},
    )
