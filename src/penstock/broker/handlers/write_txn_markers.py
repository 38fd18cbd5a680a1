"""WriteTxnMarkers v1-2: what coordinators send to brokers, and administrators to end a transaction that hangs.

Each marker is answered when it is on disk.
"""

from __future__ import annotations

import asyncio

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.transactions.transaction import TopicPartition
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity


async def handle(broker: Broker, call: Call) -> Entity:
    results = []
    for item in call.request.markers:
        marker = Marker(item.producer_id, item.producer_epoch, item.coordinator_epoch, item.transaction_result)
        topics = []
        for topic in item.topics:
            codes = await asyncio.gather(
                *(_write(broker, TopicPartition(topic.name, index), marker) for index in topic.partition_indexes)
            )
            partitions = [
                call.reply.WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                for index, code in zip(topic.partition_indexes, codes, strict=True)
            ]
            topics.append(call.reply.WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions))
        results.append(call.reply.WritableTxnMarkerResult(producer_id=item.producer_id, topics=topics))
    return call.reply.WriteTxnMarkersResponse(markers=results)


async def _write(broker: Broker, place: TopicPartition, marker: Marker) -> ErrorCode:
    outcome: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def flushed(code: ErrorCode) -> None:
        if not outcome.done():
            outcome.set_result(code)

    try:
        broker.transactions.markers.write_one(place, marker, flushed)
    except KafkaError as error:
        return error.code
    return await outcome
