"""DescribeProducers (key 61, v0): the idempotent producers that partitions remember (KIP-664).

Behaviour:
- Open transactions have the offset at which they began.

Differs from Kafka:
- A producer whose records were all deleted is remembered after a restart.
- A request whose answer would be larger than 100 MiB closes the connection.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.answer_size import AnswerSize
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_producers import (
        DescribeProducersBuilders,
        DescribeProducersResponse,
        PartitionResponse,
    )
    from penstock.protocol.kafka.requests.describe_producers import DescribeProducersRequest

    DescribeProducers = Request[DescribeProducersRequest, DescribeProducersBuilders]

PRODUCER_BYTES = 200
"""Memory of the answer for a producer, about."""


async def handle(broker: Broker, request: DescribeProducers) -> DescribeProducersResponse:
    topics = []
    turns = Turns()
    size = AnswerSize(broker.flow)
    for topic in request.body.topics:
        partitions = []
        for index in topic.partition_indexes:
            partition = _partition(broker, request, topic.name, index)
            size.add(len(partition.active_producers) * PRODUCER_BYTES)
            partitions.append(partition)
            await turns.pause()
        topics.append(request.reply.TopicResponse(name=topic.name, partitions=partitions))
        await turns.pause()
    return request.reply.DescribeProducersResponse(topics=topics)


def _partition(broker: Broker, request: DescribeProducers, topic: str, index: int) -> PartitionResponse:
    code, message, producers = ErrorCode.NONE, None, []
    try:
        broker.access.check_topic(request.session, Operation.READ, topic)
        check_topic_name(topic)
        if topic not in broker.topics:
            message = "This server does not host this topic-partition."
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        producers = [
            request.reply.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp_ms,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.current_txn_start_offset,
            )
            for producer in broker.partitions.get(topic, index).producers()
        ]
    except KafkaError as error:
        code, message = error.code, error.message
    return request.reply.PartitionResponse(
        partition_index=index, error_code=code, error_message=message, active_producers=producers
    )
