"""DescribeGroups v0-6: state, protocol and members of groups.

Versions:
- v3 authorized operations, v4 static members, v6 an error for a group that does not exist (before, it is Dead).

Metadata is shown only in a stable group; in between it belongs to no generation. Assignments are always shown: in
between they are those of the last generation.
"""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.groups.description import GroupDescription
from penstock.broker.groups.group_state import GroupState
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field

# Bits of the ACL operations a group knows: read 3, delete 6, describe 8, describe configs 10, alter configs 11.
GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
NOT_ASKED = -(1 << 31)


def handle(broker: Broker, request: Request[Entity]) -> Entity:
    groups = [_describe(broker, request, group_id) for group_id in request.body.groups]
    return request.reply.DescribeGroupsResponse(throttle_time=0, groups=groups)


def _describe(broker: Broker, request: Request[Entity], group_id: str) -> Entity:
    try:
        group = broker.groups.find(group_id)
    except KafkaError as error:
        return _described(request, group_id, error_code=error.code, group_state="")
    if group is not None:
        return _found(request, group.describe())
    if request.version >= 6:
        return _described(
            request,
            group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
            authorized_operations=NOT_ASKED,
        )
    return _described(request, group_id)


def _found(request: Request[Entity], group: GroupDescription) -> Entity:
    is_stable = group.state is GroupState.STABLE
    members = [
        request.reply.DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata if is_stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members
    ]
    return _described(
        request,
        group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=members,
    )


def _described(request: Request[Entity], group_id: str, **known: object) -> Entity:
    wants_operations = field(request.body, "include_authorized_operations", False)
    values: dict[str, object] = {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "group_state": GroupState.DEAD.value,
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
        "authorized_operations": GROUP_OPERATIONS if wants_operations else NOT_ASKED,
    }
    return request.reply.DescribedGroup(group_id=group_id, **values | known)
