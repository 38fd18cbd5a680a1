"""DescribeGroups (key 15, v0–6): state, protocol and members of groups.

Behaviour:
- Metadata is shown only in a stable group; at other times it belongs to no generation. Assignments are always shown,
  those of the last generation if need be.

Differs from Kafka:
- A request whose answer would be larger than 100 MiB closes the connection.

Version notes:
- v3 adds authorized operations, v4 static members, v6 an error for a group that does not exist (before, it is Dead).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.answer_size import AnswerSize
from penstock.broker.answers.authorized_operations import group_operations
from penstock.broker.broker import Broker
from penstock.broker.groups.description import GroupDescription
from penstock.broker.groups.group_state import GroupState
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.describe_groups import (
        DescribedGroup,
        DescribeGroupsBuilders,
        DescribeGroupsResponse,
    )
    from penstock.protocol.kafka.requests.describe_groups import DescribeGroupsRequest

    DescribeGroups = Request[DescribeGroupsRequest, DescribeGroupsBuilders]

NOT_ASKED = -(1 << 31)
MEMBER_BYTES = 200
"""Ids, names and address of a member, about."""


def handle(broker: Broker, request: DescribeGroups) -> Steps[DescribeGroupsResponse]:
    size = AnswerSize(broker.flow)
    groups = []
    for group_id in request.body.groups:
        groups.append(_describe(broker, request, group_id, size))
        yield
    return request.reply.DescribeGroupsResponse(groups=groups)


def _describe(broker: Broker, request: DescribeGroups, group_id: str, size: AnswerSize) -> DescribedGroup:
    try:
        group = broker.operations.groups.find(request.session, group_id)
    except KafkaError as error:
        return _empty(broker, request, group_id, error=error.code, state="", shows_operations=False)
    if group is not None:
        described = group.describe()
        size.add(sum(len(member.metadata) + len(member.assignment) + MEMBER_BYTES for member in described.members))
        return _found(broker, request, described)
    if request.version >= 6:
        message = f"Group {group_id} not found."
        return _empty(
            broker, request, group_id, error=ErrorCode.GROUP_ID_NOT_FOUND, message=message, shows_operations=False
        )
    return _empty(broker, request, group_id)


def _found(broker: Broker, request: DescribeGroups, group: GroupDescription) -> DescribedGroup:
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
    return request.reply.DescribedGroup(
        group_id=group.group_id,
        error_code=ErrorCode.NONE,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=members,
        authorized_operations=_operations(broker, request, group.group_id),
    )


def _empty(
    broker: Broker,
    request: DescribeGroups,
    group_id: str,
    *,
    error: ErrorCode = ErrorCode.NONE,
    message: str | None = None,
    state: str = GroupState.DEAD.value,
    shows_operations: bool = True,
) -> DescribedGroup:
    """A group that has no members, or whose members are unknown."""
    return request.reply.DescribedGroup(
        group_id=group_id,
        error_code=error,
        error_message=message,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=(),
        authorized_operations=_operations(broker, request, group_id) if shows_operations else NOT_ASKED,
    )


def _operations(broker: Broker, request: DescribeGroups, group_id: str) -> int:
    if not field(request.body, "include_authorized_operations", False):
        return NOT_ASKED
    return group_operations(broker.access, request.session, group_id)
