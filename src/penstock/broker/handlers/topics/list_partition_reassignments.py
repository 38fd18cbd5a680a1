"""ListPartitionReassignments (key 46, v0): the moves of partitions under way.

Behaviour:
- One node has none, whatever is asked for.

Differs from Kafka: no.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.list_partition_reassignments import (
        ListPartitionReassignmentsBuilders,
        ListPartitionReassignmentsResponse,
    )
    from penstock.protocol.kafka.requests.list_partition_reassignments import ListPartitionReassignmentsRequest

    ListPartitionReassignments = Request[ListPartitionReassignmentsRequest, ListPartitionReassignmentsBuilders]


def handle(broker: Broker, request: ListPartitionReassignments) -> ListPartitionReassignmentsResponse:
    allowed = broker.access.allows_cluster(request.session, Operation.DESCRIBE)
    code = ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return request.reply.ListPartitionReassignmentsResponse(error_code=code, error_message=None, topics=())
