"""ElectLeaders (key 43, v0–2): elect preferred or any leaders.

Behaviour:
- One node leads everything: ELECTION_NOT_NEEDED.
- Null topics mean all partitions; those that need no election are then left out, which leaves every topic empty.

Differs from Kafka: no.

Version notes:
- v1 adds the election type (0 preferred, 1 unclean) and the error code of the whole answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import milliseconds
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.elect_leaders import (
        ElectLeadersBuilders,
        ElectLeadersResponse,
        PartitionResult,
    )
    from penstock.protocol.kafka.requests.elect_leaders import ElectLeadersRequest

    ElectLeaders = Request[ElectLeadersRequest, ElectLeadersBuilders]

ELECTION_TYPES = (0, 1)


def handle(broker: Broker, request: ElectLeaders) -> Steps[ElectLeadersResponse]:
    election_type = field(request.body, "election_type", 0)
    refusal = None
    if not broker.access.allows_cluster(request.session, Operation.ALTER):
        refusal = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    elif election_type not in ELECTION_TYPES:
        refusal = KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}")
    elif milliseconds(request.body.timeout) <= 0:
        refusal = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    asked = request.body.topic_partitions
    if asked is None:
        wanted: list[tuple[str, tuple[int, ...]]] = []
        if refusal is None:
            wanted = [(topic.name, ()) for topic in broker.topics.all()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in asked]
    results = []
    for name, indexes in wanted:
        partitions = []
        for index in indexes:
            partitions.append(_result(request, index, refusal or _outcome(broker, name, index)))
            yield
        results.append(request.reply.ReplicaElectionResult(topic=name, partition_result=partitions))
        yield
    return request.reply.ElectLeadersResponse(
        error_code=refusal.code if refusal else ErrorCode.NONE, replica_election_results=results
    )


def _outcome(broker: Broker, name: str, index: int) -> KafkaError:
    topic = broker.topics.get(name)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= index < topic.partition_count:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    return KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def _result(request: ElectLeaders, index: int, outcome: KafkaError) -> PartitionResult:
    return request.reply.PartitionResult(partition_id=index, error_code=outcome.code, error_message=outcome.message)
