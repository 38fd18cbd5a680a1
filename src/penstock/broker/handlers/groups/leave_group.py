"""LeaveGroup (key 13, v0–5): leave a group; the other members share the partitions.

Behaviour:
- Members leave one by one, each with its own error.

Differs from Kafka: no.

Version notes:
- v0–2 name one member, its error at the top.
- v3 names several members, static ones by their instance alone, each with its own error; v5 adds a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.claim import Identity
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.leave_group import LeaveGroupBuilders, LeaveGroupResponse
    from penstock.protocol.kafka.requests.leave_group import LeaveGroupRequest

    LeaveGroup = Request[LeaveGroupRequest, LeaveGroupBuilders]


async def handle(broker: Broker, request: LeaveGroup) -> LeaveGroupResponse:
    reply = request.reply
    if request.version < 3:
        leaving = [Identity(request.body.member_id, None)]
    else:
        leaving = [Identity(item.member_id, item.group_instance_id) for item in request.body.members]
    try:
        broker.access.check_group(request.session, Operation.READ, request.body.group_id)
        codes = await broker.groups.classic.leave(request.body.group_id, leaving)
    except KafkaError as error:
        if error.code is not ErrorCode.UNKNOWN_MEMBER_ID:
            return reply.LeaveGroupResponse(error_code=error.code, members=())
        codes = (error.code,) * len(leaving)  # there is no such group
    if request.version < 3:
        return reply.LeaveGroupResponse(error_code=codes[0])
    members, turns = [], Turns()
    for item, code in zip(leaving, codes, strict=True):
        members.append(
            reply.MemberResponse(member_id=item.member_id, group_instance_id=item.instance_id, error_code=code)
        )
        await turns.pause()
    return reply.LeaveGroupResponse(error_code=ErrorCode.NONE, members=members)
