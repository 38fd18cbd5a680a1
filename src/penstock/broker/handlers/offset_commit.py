"""OffsetCommit v2-10: a group, or a consumer without one, stores how far it has read.

Versions:
- v2-4 a retention of the client's own, which is kept with the offset; later ones follow `offsets_retention_minutes`.
- v6 leader epochs, v7 static members, v9 GROUP_ID_NOT_FOUND for a member of an unknown group, v10 topic ids.

Answered when the offsets are on disk. Partitions that do not exist are refused one by one; the rest stands or falls
together, with the group's error.
"""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.groups.group import Identity
from penstock.broker.groups.offsets import OffsetChange
from penstock.broker.groups.records import CommittedOffset
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP
from penstock.protocol.kafka.messages import Entity, field, milliseconds

Codes = dict[tuple[str, int], ErrorCode]


async def handle(broker: Broker, call: Call) -> Entity:
    by_id = call.version >= 10
    answers = []
    codes: Codes = {}
    changes: list[OffsetChange] = []
    for wanted in call.request.topics:
        topic = broker.topics.get_by_id(wanted.topic_id) if by_id else broker.topics.get(wanted.name)
        if topic is not None:
            _collect(broker, call, topic, wanted.partitions, codes, changes)
        answers.append((wanted, topic))
    if codes:
        await _commit(broker, call, codes, changes)
    missing = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return call.reply.OffsetCommitResponse(
        throttle_time=0, topics=[_answer(call, wanted, topic, codes, missing) for wanted, topic in answers]
    )


def _collect(
    broker: Broker, call: Call, topic: Topic, partitions: Entity, codes: Codes, changes: list[OffsetChange]
) -> None:
    now_ms = broker.clock.now_ms()
    retention = field(call.request, "retention_time")
    retention_ms = NO_TIMESTAMP if retention is None else milliseconds(retention)
    expire_ms = NO_TIMESTAMP if retention_ms == NO_TIMESTAMP else now_ms + retention_ms
    longest = broker.settings.groups.offset_metadata_bytes_max
    for item in partitions:
        index = item.partition_index
        if not 0 <= index < topic.partition_count:
            continue
        metadata = item.committed_metadata or ""
        if len(metadata) > longest:
            codes[topic.name, index] = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        codes[topic.name, index] = ErrorCode.NONE
        leader_epoch = field(item, "committed_leader_epoch", NO_EPOCH)
        committed = CommittedOffset(item.committed_offset, leader_epoch, metadata, now_ms, expire_ms, topic.topic_id)
        changes.append(OffsetChange(topic.name, index, committed))


async def _commit(broker: Broker, call: Call, codes: Codes, changes: list[OffsetChange]) -> None:
    request = call.request
    try:
        await broker.groups.commit(
            request.group_id,
            Identity(request.member_id, field(request, "group_instance_id")),
            request.generation_id_or_member_epoch,
            changes,
            unknown_group=ErrorCode.GROUP_ID_NOT_FOUND if call.version >= 9 else ErrorCode.ILLEGAL_GENERATION,
        )
    except KafkaError as error:
        codes.update(dict.fromkeys(codes, error.code))


def _answer(call: Call, wanted: Entity, topic: Topic | None, codes: Codes, missing: ErrorCode) -> Entity:
    name = "" if topic is None else topic.name
    unknown = missing if topic is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partitions = [
        call.reply.OffsetCommitResponsePartition(
            partition_index=item.partition_index, error_code=codes.get((name, item.partition_index), unknown)
        )
        for item in wanted.partitions
    ]
    return call.reply.OffsetCommitResponseTopic(
        name=field(wanted, "name"), topic_id=field(wanted, "topic_id"), partitions=partitions
    )
