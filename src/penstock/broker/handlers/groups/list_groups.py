"""ListGroups v0-5: every group. v4 shows and filters by state, v5 by type; names of both in any case."""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.groups.group_state import GroupType
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field

_TYPES = {group_type.value for group_type in GroupType}


def handle(broker: Broker, request: Request[Entity]) -> Entity:
    states = {state.lower() for state in field(request.body, "states_filter", ())}
    types = {group_type.lower() for group_type in field(request.body, "types_filter", ())}
    code, groups = ErrorCode.NONE, []
    try:
        if not types or types & _TYPES:
            groups = [
                request.reply.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=group.group_type.value,
                )
                for group in broker.groups.all_groups()
                if (not states or group.state.value.lower() in states)
                and (not types or group.group_type.value in types)
            ]
    except KafkaError as error:
        code = error.code
    return request.reply.ListGroupsResponse(throttle_time=0, error_code=code, groups=groups)
