"""ListOffsets (key 2, v1–11): an offset by time, or one of the marked places of a log.

Behaviour:
- A partition that is asked for twice is answered once, with INVALID_REQUEST. An unknown isolation level is
  UNKNOWN_SERVER_ERROR for all, as in Kafka.

Differs from Kafka:
- Nothing is tiered, so -5 and -6 find nothing and -4 is the earliest offset.
- A look-up finds the next record that is left where compaction or DeleteRecords removed the one of that time.

Version notes:
- v2 adds the isolation level, v4 leader epochs, v7 the largest timestamp (-3), v8 the earliest local offset (-4), v9
  the latest tiered (-5), v11 the earliest pending upload (-6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.records.offset_lookup import find_offset
from penstock.broker.request import Request
from penstock.cluster.partition import OffsetSpec
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.fetch import ISOLATION_LEVELS
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps, Turns, finish
from penstock.security.resources import Operation
from penstock.storage.interface import TimestampOffset

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.list_offsets import (
        ListOffsetsBuilders,
        ListOffsetsPartitionResponse,
        ListOffsetsResponse,
    )
    from penstock.protocol.kafka.requests.list_offsets import ListOffsetsPartition, ListOffsetsRequest

    ListOffsets = Request[ListOffsetsRequest, ListOffsetsBuilders]

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6

_FIRST_VERSION = {
    LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11,
}  # fmt: skip
_PLACES = {
    LATEST: OffsetSpec.LATEST,
    EARLIEST: OffsetSpec.EARLIEST,
    EARLIEST_LOCAL: OffsetSpec.EARLIEST,
    MAX_TIMESTAMP: OffsetSpec.MAX_TIMESTAMP,
}
_NOWHERE = TimestampOffset(-1, -1, -1)


async def handle(broker: Broker, request: ListOffsets) -> ListOffsetsResponse:
    reply = request.reply
    if field(request.body, "isolation_level", 0) not in ISOLATION_LEVELS:
        return await finish(_refused(broker, request, ErrorCode.UNKNOWN_SERVER_ERROR))
    topics: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    turns = Turns()
    repeated = await _repeated(request, turns)
    for topic in request.body.topics:
        for item in topic.partitions:
            index = item.partition_index
            twice = (topic.name, index) in repeated
            topics.setdefault(topic.name, {})[index] = await _find(broker, request, topic.name, item, twice)
            await turns.pause()
    answers = []
    for name, partitions in topics.items():
        answers.append(reply.ListOffsetsTopicResponse(name=name, partitions=list(partitions.values())))
        await turns.pause()
    return reply.ListOffsetsResponse(topics=answers)


async def _repeated(request: ListOffsets, turns: Turns) -> set[tuple[str, int]]:
    """The partitions that are asked for more than once."""
    asked: dict[str, set[int]] = {}
    repeated: set[tuple[str, int]] = set()
    for topic in request.body.topics:
        indexes = asked.setdefault(topic.name, set())
        for item in topic.partitions:
            if item.partition_index in indexes:
                repeated.add((topic.name, item.partition_index))
            indexes.add(item.partition_index)
            await turns.pause()
    return repeated


def _refused(broker: Broker, request: ListOffsets, code: ErrorCode) -> Steps[ListOffsetsResponse]:
    """Kafka's answer to a request that it refuses as a whole: every partition as it was asked for."""
    broker.metrics.requests.failed(request.api.key, code.name)
    topics = []
    for topic in request.body.topics:
        partitions = []
        for item in topic.partitions:
            partitions.append(_row(request, item.partition_index, code, _NOWHERE))
            yield
        topics.append(request.reply.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
        yield
    return request.reply.ListOffsetsResponse(topics=topics)


def _row(request: ListOffsets, index: int, code: ErrorCode, found: TimestampOffset) -> ListOffsetsPartitionResponse:
    return request.reply.ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=code,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


async def _find(
    broker: Broker, request: ListOffsets, topic: str, item: ListOffsetsPartition, twice: bool
) -> ListOffsetsPartitionResponse:
    code, found = ErrorCode.NONE, _NOWHERE
    try:
        if twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if item.timestamp < 0 and request.version < _FIRST_VERSION.get(item.timestamp, 1 << 15):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = broker.operations.records.partition(
            request.session, Operation.DESCRIBE, topic, item.partition_index
        )
        if partition.failed:
            raise KafkaError(partition.failure)
        partition.check_epoch(field(item, "current_leader_epoch", -1))
        committed_only = field(request.body, "isolation_level", 0) == 1
        if item.timestamp not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            wanted = _PLACES.get(item.timestamp, item.timestamp)
            place = await find_offset(
                partition, wanted, broker.record_worker, committed_only=committed_only, owner=request.session.user
            )
            found = place or _NOWHERE
    except KafkaError as error:
        code, found = error.code, _NOWHERE
        broker.metrics.requests.failed(request.api.key, code.name)
    return _row(request, item.partition_index, code, found)
