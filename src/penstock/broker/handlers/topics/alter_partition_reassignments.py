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
from penstock.runtime.turns import Steps
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


def handle(broker: Broker, request: AlterPartitionReassignments) -> Steps[AlterPartitionReassignmentsResponse]:
    reply = request.reply
    refusal = ErrorCode.NONE
    if not broker.access.allows_cluster(request.session, Operation.ALTER):
        refusal = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    elif milliseconds(request.body.timeout) <= 0:
        refusal = ErrorCode.REQUEST_TIMED_OUT
    responses = []
    for topic in request.body.topics:
        partitions = []
        for item in topic.partitions:
            partitions.append(_result(broker, request, topic.name, item, refusal))
            yield
        responses.append(reply.ReassignableTopicResponse(name=topic.name, partitions=partitions))
        yield
    if refusal is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return reply.AlterPartitionReassignmentsResponse(error_code=refusal, error_message=None, responses=responses)
    return reply.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=field(request.body, "allow_replication_factor_change", True),
        error_code=refusal,
        error_message=None if request.body.topics else "",  # as in Kafka
        responses=responses,
    )


def _result(
    broker: Broker,
    request: AlterPartitionReassignments,
    topic: str,
    wanted: ReassignablePartition,
    refusal: ErrorCode,
) -> ReassignablePartitionResponse:
    code, message = ErrorCode.NONE, None
    try:
        if refusal is not ErrorCode.NONE:
            raise KafkaError(refusal)
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
