"""AddPartitionsToTxn v0-5.

Behaviour:
- All of the partitions or none: with one that does not exist, the others get OPERATION_NOT_ATTEMPTED.
- v4+ is what brokers send each other: several transactions at once, and `verify_only`, which adds nothing.

Versions:
- v2 knows PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before.
- v5 is the second generation.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.transactions.transaction import ProducerIdentity, TopicPartition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity

FIRST_GENERATION, SECOND_GENERATION = 1, 2
Codes = dict[TopicPartition, ErrorCode]


async def handle(broker: Broker, call: Call) -> Entity:
    request = call.request
    if call.version < 4:
        sender = ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        topics = request.v3_and_below_topics
        codes = await _add(broker, call, request.v3_and_below_transactional_id, sender, topics, verify_only=False)
        return call.reply.AddPartitionsToTxnResponse(
            throttle_time=0, results_by_topic_v3_and_below=_topics(call, topics, codes)
        )
    results = []
    for item in request.transactions:
        sender = ProducerIdentity(item.producer_id, item.producer_epoch)
        codes = await _add(broker, call, item.transactional_id, sender, item.topics, verify_only=item.verify_only)
        results.append(
            call.reply.AddPartitionsToTxnResult(
                transactional_id=item.transactional_id, topic_results=_topics(call, item.topics, codes)
            )
        )
    return call.reply.AddPartitionsToTxnResponse(
        throttle_time=0, error_code=ErrorCode.NONE, results_by_transaction=results
    )


async def _add(
    broker: Broker,
    call: Call,
    transactional_id: str,
    sender: ProducerIdentity,
    topics: Sequence[Entity],
    *,
    verify_only: bool,
) -> Codes:
    places = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
    codes = {place: _existence(broker, place) for place in places}
    if any(codes.values()):
        return {place: code or ErrorCode.OPERATION_NOT_ATTEMPTED for place, code in codes.items()}
    if verify_only:
        return {place: _verified(broker, transactional_id, sender, place) for place in places}
    version = SECOND_GENERATION if call.version >= 5 else FIRST_GENERATION
    try:
        await broker.transactions.add_partitions(transactional_id, sender, places, version)
    except KafkaError as error:
        return dict.fromkeys(places, fencing_code(error.code, knows_fenced=call.version >= 2))
    return codes


def _existence(broker: Broker, place: TopicPartition) -> ErrorCode:
    topic = broker.topics.get(place.topic)
    if topic is None or not 0 <= place.partition < topic.partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _verified(broker: Broker, transactional_id: str, sender: ProducerIdentity, place: TopicPartition) -> ErrorCode:
    try:
        broker.transactions.verify(transactional_id, sender, place)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _topics(call: Call, topics: Sequence[Entity], codes: Codes) -> list[Entity]:
    return [
        call.reply.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                call.reply.AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=codes[TopicPartition(topic.name, index)]
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def fencing_code(code: ErrorCode, *, knows_fenced: bool) -> ErrorCode:
    """Clients of old versions know only INVALID_PRODUCER_EPOCH."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED and not knows_fenced else code
