"""ListPartitionReassignments (key 46, v0): the moves under way. On one node there are none, whatever is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.messages import Entity

if TYPE_CHECKING:
    from penstock.broker.broker import Broker


def handle(broker: Broker, request: Request[Entity]) -> Entity:
    return request.reply.ListPartitionReassignmentsResponse(
        throttle_time=0, error_code=ErrorCode.NONE, error_message=None, topics=()
    )
