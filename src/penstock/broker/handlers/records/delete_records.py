"""DeleteRecords (key 21, v0–2): raise the first readable offset of partitions.

Behaviour:
- Offset -1 is the high watermark. Above it, or negative: OFFSET_OUT_OF_RANGE. Below the log start: nothing to do.
- Only topics whose cleanup.policy has `delete`: POLICY_VIOLATION otherwise. The broker's own topics:
  INVALID_TOPIC_EXCEPTION.
- Durable before the answer, which has the new log start. The space comes back with the next retention run.

Differs from Kafka: no.

Version notes:
- v2 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.request import Request
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import INTERNAL_NAMES
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.delete_records import (
        DeleteRecordsBuilders,
        DeleteRecordsPartitionResult,
        DeleteRecordsResponse,
    )
    from penstock.protocol.kafka.requests.delete_records import DeleteRecordsRequest

    DeleteRecords = Request[DeleteRecordsRequest, DeleteRecordsBuilders]

HIGH_WATERMARK = -1
NO_OFFSET = -1


async def handle(broker: Broker, request: DeleteRecords) -> DeleteRecordsResponse:
    topics: dict[str, dict[int, DeleteRecordsPartitionResult]] = {}
    turns = Turns()
    for topic in request.body.topics:
        for wanted in topic.partitions:
            index = wanted.partition_index
            topics.setdefault(topic.name, {})[index] = await _result(broker, request, topic.name, index, wanted.offset)
            await turns.pause()
    results = []
    for name, partitions in topics.items():
        results.append(request.reply.DeleteRecordsTopicResult(name=name, partitions=list(partitions.values())))
        await turns.pause()
    return request.reply.DeleteRecordsResponse(topics=results)


async def _result(
    broker: Broker, request: DeleteRecords, topic: str, index: int, offset: int
) -> DeleteRecordsPartitionResult:
    code, low_watermark = ErrorCode.NONE, NO_OFFSET
    try:
        broker.access.check_topic(request.session, Operation.DELETE, topic)
        if topic in INTERNAL_NAMES:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        low_watermark = await _delete(broker.partitions.get(topic, index), offset)
    except KafkaError as error:
        code = error.code
    except OSError:
        code = ErrorCode.KAFKA_STORAGE_ERROR
    return request.reply.DeleteRecordsPartitionResult(
        partition_index=index, low_watermark=low_watermark, error_code=code
    )


async def _delete(partition: Partition, offset: int) -> int:
    if partition.failed:
        raise KafkaError(partition.failure)
    if partition.mirror or not partition.config.cleanup_delete:
        raise KafkaError(ErrorCode.POLICY_VIOLATION)
    before = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if before < 0 or before > partition.high_watermark:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if before > partition.log_start:
        await partition.delete_records(before)
    return partition.log_start
