"""CreateTopics (key 19, v2–7): create topics, or only tell whether they could be created.

Behaviour:
- Topics of one request succeed or fail one by one. A name that comes twice fails: INVALID_REQUEST.
- A timeout of zero or less has passed already: REQUEST_TIMED_OUT, and nothing is created.
- `num_partitions` and `replication_factor` of -1 are the node's defaults; the answer shows the real replicas.

Differs from Kafka:
- The broker's own topics cannot be created: INVALID_REQUEST. Kafka lets them be made with a wrong shape.
- More than 1,000 configs of a topic: INVALID_REQUEST.
- A replication factor above the number of brokers is accepted unless `topics.strict_replication_factor` is set.

Version notes:
- v5 answers with the topic's configs, v6 may refuse for a quota, v7 answers with the topic's id.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.answers.config_answers import check_config_count
from penstock.broker.quotas.mutations import mutation_quota
from penstock.broker.request import Request
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import encode, milliseconds
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.create_topics import CreatableTopicResult, CreateTopicsBuilders
    from penstock.protocol.kafka.requests.create_topics import CreatableTopic, CreateTopicsRequest

    CreateTopics = Request[CreateTopicsRequest, CreateTopicsBuilders]


async def handle(broker: Broker, request: CreateTopics) -> bytes:
    counts: Counter[str] = Counter()
    results: dict[str, Topic | KafkaError] = {}
    wanted = []
    partitions_max = broker.settings.limits.partitions_per_topic_max
    turns = Turns()
    for topic in request.body.topics:
        counts[topic.name] += 1
        await turns.pause()
    for topic in request.body.topics:
        await turns.pause()
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            if milliseconds(request.body.timeout) <= 0:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
            _check(topic, partitions_max)
            wanted.append(_new_topic(topic))
        except KafkaError as error:
            results[topic.name] = error.kept()
    admit = mutation_quota(broker.quotas, request, strict_from=6)
    created = await broker.operations.topics.create(
        request.session, wanted, validate_only=request.body.validate_only, admit=admit
    )
    results.update((new.name, result) for new, result in zip(wanted, created, strict=True))
    encoded = []
    for name in counts:
        encoded.append(encode(_result(broker, request, name, results[name])))
        await turns.pause()
    return array_answer(request, encoded)


def _check(topic: CreatableTopic, partitions_max: int) -> None:
    """KafkaError for a topic whose request contradicts itself, or has more in it than anybody could mean."""
    if len(topic.assignments) > partitions_max:
        message = f"Topic '{topic.name}' would have more than {partitions_max} partitions."
        raise KafkaError(ErrorCode.POLICY_VIOLATION, message)
    check_config_count(topic.configs)
    if len({item.partition_index for item in topic.assignments}) < len(topic.assignments):
        message = "Found multiple manual partition assignments for one partition."
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments={item.partition_index: item.broker_ids for item in topic.assignments},
        configs=[(config.name, config.value) for config in topic.configs],
    )


def _result(broker: Broker, request: CreateTopics, name: str, result: Topic | KafkaError) -> CreatableTopicResult:
    reply = request.reply
    if isinstance(result, KafkaError):
        return reply.CreatableTopicResult(
            name=name,
            topic_id=None,
            error_code=result.code,
            error_message=result.message,
            num_partitions=-1,
            replication_factor=-1,
            configs=(),
        )
    configs, config_code = [], ErrorCode.NONE
    if request.version >= 5 and not broker.access.shows_topic(request.session, Operation.DESCRIBE_CONFIGS, name):
        config_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif request.version >= 5:
        configs = [
            reply.CreatableTopicConfigs(
                name=config.name,
                value=config.value,
                read_only=config.read_only,
                config_source=config.source,
                is_sensitive=config.sensitive,
            )
            for config in broker.controller.configs.layers.describe_topic(result.configs)
        ]
    return reply.CreatableTopicResult(
        name=name,
        topic_id=result.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        topic_config_error_code=config_code,
        num_partitions=result.partition_count,
        replication_factor=1,
        configs=configs,
    )
