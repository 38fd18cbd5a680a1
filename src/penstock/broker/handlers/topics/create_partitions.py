"""CreatePartitions (key 37, v0–3): add partitions to topics.

Behaviour:
- The count can only rise; INVALID_PARTITIONS otherwise. A topic that comes twice fails: INVALID_REQUEST.
- Assignments, if any, name the replicas of each added partition; brokers that do not exist: INVALID_REPLICA_ASSIGNMENT.

Differs from Kafka:
- The broker's own topics keep their size, by which groups are found: INVALID_REQUEST.

Version notes:
- v3 may refuse for a quota.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.broker.quotas.mutations import mutation_quota
from penstock.broker.request import Request
from penstock.cluster.controller.topics_frontend import Admit
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import milliseconds
from penstock.runtime.turns import Turns

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.create_partitions import CreatePartitionsBuilders, CreatePartitionsResponse
    from penstock.protocol.kafka.requests.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic

    CreatePartitions = Request[CreatePartitionsRequest, CreatePartitionsBuilders]


async def handle(broker: Broker, request: CreatePartitions) -> CreatePartitionsResponse:
    counts = Counter(topic.name for topic in request.body.topics)
    results, turns = {}, Turns()
    admit = mutation_quota(broker.quotas, request, strict_from=3)
    for topic in request.body.topics:
        code, message = ErrorCode.NONE, None
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            await _grow(broker, request, topic, admit)
        except KafkaError as error:
            code, message = error.code, error.message
        results[topic.name] = request.reply.CreatePartitionsTopicResult(
            name=topic.name, error_code=code, error_message=message
        )
        await turns.pause()
    return request.reply.CreatePartitionsResponse(results=list(results.values()))


async def _grow(
    broker: Broker,
    request: CreatePartitions,
    topic: CreatePartitionsTopic,
    admit: Admit | None,
) -> None:
    if milliseconds(request.body.timeout) <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    assignments = topic.assignments
    await broker.operations.topics.create_partitions(
        request.session,
        topic.name,
        topic.count,
        None if assignments is None else [item.broker_ids for item in assignments],
        validate_only=request.body.validate_only,
        admit=admit,
    )
