"""JoinGroup (key 11, v0–9): become a member of a group, or join again.

Behaviour:
- Answered when all members have joined or the rebalance timeout is over; the leader alone gets the members' metadata.

Differs from Kafka:
- A join that the same member's next one replaces is answered with REBALANCE_IN_PROGRESS; Kafka never answers it.
- The first join of a new group is answered when the group's record is on disk.
- A new group waits 250 ms for more members, not three seconds.
- INVALID_GROUP_ID for a new group whose id has more than 1,024 bytes.
- Metadata of more than 1 MiB is refused with INVALID_REQUEST, and what finds no room in
  `limits.group_metadata_bytes_max` with COORDINATOR_NOT_AVAILABLE.

Version notes:
- v0 has one timeout for sessions and rebalances; v1 separates them.
- v4: a new member first gets its id with MEMBER_ID_REQUIRED (KIP-394); v5 adds static members (KIP-345).
- v7 adds the protocol type, and null instead of "" for no protocol; v8 a reason; v9 may tell a leader to skip the
  assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.classic.exchange import JoinAnswer, JoinRequest
from penstock.broker.request import Request
from penstock.model.errors import KafkaError
from penstock.protocol.kafka.messages import milliseconds
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.join_group import JoinGroupBuilders, JoinGroupResponse
    from penstock.protocol.kafka.requests.join_group import JoinGroupRequest

    JoinGroup = Request[JoinGroupRequest, JoinGroupBuilders]


async def handle(broker: Broker, request: JoinGroup) -> JoinGroupResponse:
    try:
        group_id = request.body.group_id
        broker.access.check_group(request.session, Operation.READ, group_id)
        with broker.group_share.taken(request.session, group_id):
            answer = await broker.groups.classic.join(group_id, _request(request))
    except KafkaError as error:
        answer = JoinAnswer(error=error.code)
    name = answer.protocol_name
    return request.reply.JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=name or "" if request.version < 7 else name,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            request.reply.JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )


def _request(request: JoinGroup) -> JoinRequest:
    body = request.take_body()  # the answer may take minutes
    session_timeout = body.session_timeout
    return JoinRequest(
        member_id=body.member_id,
        instance_id=field(body, "group_instance_id"),
        client_id=request.client_id or "",
        client_host=f"/{request.session.host}",  # as Java prints addresses, and tools expect them
        session_timeout_ms=milliseconds(session_timeout),
        rebalance_timeout_ms=max(0, milliseconds(field(body, "rebalance_timeout", session_timeout))),
        protocol_type=body.protocol_type,
        protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in body.protocols),
        needs_member_id=request.version >= 4,
        can_skip_assignment=request.version >= 9,
    )
