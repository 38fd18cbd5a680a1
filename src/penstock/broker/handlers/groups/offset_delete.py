"""OffsetDelete (key 47, v0): delete offsets of topics that a group does not read (KIP-496).

Behaviour:
- A topic that a member subscribes to is refused with GROUP_SUBSCRIBED_TO_TOPIC, partition by partition.

Differs from Kafka:
- Very many offsets go in several batches.

Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.offset_delete import (
        OffsetDeleteBuilders,
        OffsetDeleteResponse,
        OffsetDeleteResponsePartition,
    )
    from penstock.protocol.kafka.requests.offset_delete import OffsetDeleteRequest

    OffsetDelete = Request[OffsetDeleteRequest, OffsetDeleteBuilders]


async def handle(broker: Broker, request: OffsetDelete) -> OffsetDeleteResponse:
    reply = request.reply
    existing: list[tuple[str, int]] = []
    codes: dict[tuple[str, int], ErrorCode] = {}
    turns = Turns()
    for wanted in request.body.topics:
        topic = broker.topics.get(wanted.name)
        count = 0 if topic is None else topic.partition_count
        readable = broker.operations.offsets.readable(request.session, wanted.name)
        for item in wanted.partitions:
            index = item.partition_index
            if not readable:
                codes[wanted.name, index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif 0 <= index < count:
                existing.append((wanted.name, index))
            else:
                codes[wanted.name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            await turns.pause()
        await turns.pause()
    try:
        codes |= await broker.operations.offsets.delete(request.session, request.body.group_id, existing)
    except KafkaError as error:
        return reply.OffsetDeleteResponse(error_code=error.code, topics=())
    topics: dict[str, list[OffsetDeleteResponsePartition]] = {}
    unknown = codes.keys() - set(existing)
    for name, index in [*(key for key in codes if key in unknown), *existing]:  # as in Kafka, what is unknown first
        code = codes[name, index]
        row = reply.OffsetDeleteResponsePartition(partition_index=index, error_code=code)
        topics.setdefault(name, []).append(row)
        await turns.pause()
    answers = []
    for name, rows in topics.items():
        answers.append(reply.OffsetDeleteResponseTopic(name=name, partitions=rows))
        await turns.pause()
    return reply.OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=answers)
