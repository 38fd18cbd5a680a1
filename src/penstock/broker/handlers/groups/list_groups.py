"""ListGroups (key 16, v0–5): every group, with its state and type.

Behaviour:
- Filters by state and type take names in any case.

Differs from Kafka: no.

Version notes:
- v4 shows and filters by state, v5 by type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupType
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.list_groups import ListedGroup, ListGroupsBuilders, ListGroupsResponse
    from penstock.protocol.kafka.requests.list_groups import ListGroupsRequest

    ListGroups = Request[ListGroupsRequest, ListGroupsBuilders]

_TYPES = {group_type.value for group_type in GroupType}


def handle(broker: Broker, request: ListGroups) -> Steps[ListGroupsResponse]:
    states = {state.lower() for state in field(request.body, "states_filter", ())}
    types = {group_type.lower() for group_type in field(request.body, "types_filter", ())}
    code, groups = ErrorCode.NONE, []
    try:
        if not types or types & _TYPES:
            for group in broker.operations.groups.visible(request.session):
                if (not states or group.state.value.lower() in states) and (
                    not types or group.group_type.value in types
                ):
                    groups.append(_listed(request, group))
                yield
    except KafkaError as error:
        code = error.code
    return request.reply.ListGroupsResponse(error_code=code, groups=groups)


def _listed(request: ListGroups, group: CoordinatedGroup) -> ListedGroup:
    return request.reply.ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=group.group_type.value,
    )
