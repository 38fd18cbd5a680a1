"""AlterPartitionReassignments (key 45, v0–1): move partitions to other brokers (KIP-455).

Behaviour:
- The assignment to this node is the current one and succeeds at once; any other names a broker that does not exist.
  Null replicas cancel a move, and none is under way: NO_REASSIGNMENT_IN_PROGRESS.

Differs from Kafka: no.

Version notes:
- v1 may forbid a change of the replication factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.cluster.controller.new_topic import check_assignment
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import milliseconds
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.alter_partition_reassignments import (
        AlterPartitionReassignmentsBuilders,
        AlterPartitionReassignmentsResponse,
        ReassignablePartitionResponse,
    )
    from penstock.protocol.kafka.requests.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
    )

    AlterPartitionReassignments = Request[AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsBuilders]


def handle(broker: Broker, request: AlterPartitionReassignments) -> AlterPartitionReassignmentsResponse:
    if not broker.access.allows_cluster(request.session, Operation.ALTER):
        return _refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    timed_out = milliseconds(request.body.timeout) <= 0
    return request.reply.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=field(request.body, "allow_replication_factor_change", True),
        error_code=ErrorCode.REQUEST_TIMED_OUT if timed_out else ErrorCode.NONE,
        error_message=None if request.body.topics else "",  # as in Kafka
        responses=[
            request.reply.ReassignableTopicResponse(
                name=topic.name,
                partitions=[_result(broker, request, topic.name, item, timed_out) for item in topic.partitions],
            )
            for topic in request.body.topics
        ],
    )


def _refused(request: AlterPartitionReassignments, code: ErrorCode) -> AlterPartitionReassignmentsResponse:
    reply = request.reply
    return reply.AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=None,
        responses=[
            reply.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    reply.ReassignablePartitionResponse(
                        partition_index=item.partition_index, error_code=code, error_message=None
                    )
                    for item in topic.partitions
                ],
            )
            for topic in request.body.topics
        ],
    )


def _result(
    broker: Broker,
    request: AlterPartitionReassignments,
    topic: str,
    wanted: ReassignablePartition,
    timed_out: bool,
) -> ReassignablePartitionResponse:
    code, message = ErrorCode.NONE, None
    try:
        if timed_out:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        _check(broker, topic, wanted)
    except KafkaError as error:
        code, message = error.code, error.message
    return request.reply.ReassignablePartitionResponse(
        partition_index=wanted.partition_index, error_code=code, error_message=message
    )


def _check(broker: Broker, name: str, wanted: ReassignablePartition) -> None:
    topic = broker.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    if not 0 <= wanted.partition_index < topic.partition_count:
        message = f"Unable to find partition {name}:{wanted.partition_index}."
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if wanted.replicas is None:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    check_assignment(wanted.replicas, {broker.node_id})
