"""OffsetCommit (key 8, v2–10): store how far a group, or a consumer without one, has read.

Behaviour:
- Answered when the offsets are on disk. Partitions that do not exist are refused one by one; the rest succeeds or fails
  together, with the group's error.

Differs from Kafka:
- INVALID_GROUP_ID for a new group whose id has more than 1,024 bytes.
- OFFSET_METADATA_TOO_LARGE also when the texts of all groups together are 64 MiB.

Version notes:
- v2–4 have a retention of the client's own, which is kept with the offset; later ones follow
  `offsets_retention_minutes`.
- v6 adds leader epochs, v7 static members, v9 GROUP_ID_NOT_FOUND for a member of an unknown group, v10 topic ids.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.claim import CommitClaim
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.broker.request import Request
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, TopicId
from penstock.protocol.kafka.messages import milliseconds
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps, Turns, finish
from penstock.security.resources import Operation

Key = str | TopicId | None

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.offset_commit import (
        OffsetCommitBuilders,
        OffsetCommitResponse,
        OffsetCommitResponsePartition,
        OffsetCommitResponseTopic,
    )
    from penstock.protocol.kafka.requests.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

    Rows = dict[Key, list[OffsetCommitResponsePartition]]
    Known = list[tuple[Topic, list[OffsetCommitRequestPartition]]]
    OffsetCommit = Request[OffsetCommitRequest, OffsetCommitBuilders]

Codes = dict[tuple[str, int], ErrorCode]
Changes = dict[tuple[str, int], OffsetChange]
OFFSETS_AT_ONCE = 100


async def handle(broker: Broker, request: OffsetCommit) -> OffsetCommitResponse:
    by_id = request.version >= 10
    missing = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    rows: Rows = {}
    known: Known = []
    may_commit = broker.access.allows_group(request.session, Operation.READ, request.body.group_id)
    turns = Turns()
    for wanted in request.body.topics:
        await turns.pause()
        key: Key = wanted.topic_id if by_id else wanted.name
        topic = broker.topics.get_by_id(wanted.topic_id) if by_id else broker.topics.get(wanted.name)
        refusal = ErrorCode.NONE if may_commit else ErrorCode.GROUP_AUTHORIZATION_FAILED
        name = topic.name if topic is not None else None if by_id else wanted.name
        if may_commit and name is not None and not broker.operations.offsets.readable(request.session, name):
            refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if refusal is not ErrorCode.NONE:
            for item in wanted.partitions:
                _add(request, rows, key, item.partition_index, refusal)
                await turns.pause()
            continue
        count = 0 if topic is None else topic.partition_count
        existing = []
        unknown = missing if topic is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for item in wanted.partitions:
            if 0 <= item.partition_index < count:
                existing.append(item)
            else:
                _add(request, rows, key, item.partition_index, unknown)
            await turns.pause()
        if topic is not None:
            known.append((topic, existing))
    codes: Codes = {}
    changes: Changes = {}
    text_bytes = 0
    for topic, existing in known:
        for first in range(0, len(existing), OFFSETS_AT_ONCE):
            some = existing[first : first + OFFSETS_AT_ONCE]
            text_bytes += _collect(broker, request, topic, some, codes, changes)
            await turns.pause()
    if codes:
        await _commit(broker, request, codes, changes, text_bytes, turns)
    return request.reply.OffsetCommitResponse(topics=await finish(_answered(request, rows, known, codes)))


def _answered(request: OffsetCommit, rows: Rows, known: Known, codes: Codes) -> Steps[list[OffsetCommitResponseTopic]]:
    """Order answers as Kafka does: as asked for, but if a topic is unknown, it comes first and topics are merged."""
    topics = []
    anything_unknown = bool(rows)
    for topic, existing in known:
        key: Key = topic.topic_id if request.version >= 10 else topic.name
        into: Rows = rows if anything_unknown else {}
        for item in existing:
            _add(request, into, key, item.partition_index, codes[topic.name, item.partition_index])
            yield
        if not anything_unknown:
            topics += [_topic(request, *item) for item in into.items()]
    for key, partitions in rows.items():
        topics.append(_topic(request, key, partitions))
        yield
    return topics


def _topic(
    request: OffsetCommit, key: Key, partitions: list[OffsetCommitResponsePartition]
) -> OffsetCommitResponseTopic:
    if isinstance(key, str):
        return request.reply.OffsetCommitResponseTopic(name=key, partitions=partitions)
    return request.reply.OffsetCommitResponseTopic(topic_id=key, partitions=partitions)


def _add(request: OffsetCommit, rows: Rows, key: Key, index: int, code: ErrorCode) -> None:
    row = request.reply.OffsetCommitResponsePartition(partition_index=index, error_code=code)
    rows.setdefault(key, []).append(row)


def _collect(
    broker: Broker,
    request: OffsetCommit,
    topic: Topic,
    partitions: list[OffsetCommitRequestPartition],
    codes: Codes,
    changes: Changes,
) -> int:
    """Add the offsets that can be committed, the last for each partition, and a code for each.

    Returns the memory of the texts with them.
    """
    now_ms = broker.clock.now_ms()
    retention = field(request.body, "retention_time")
    retention_ms = NO_TIMESTAMP if retention is None else milliseconds(retention)
    expire_ms = NO_TIMESTAMP if retention_ms == NO_TIMESTAMP else now_ms + retention_ms
    longest = broker.settings.groups.offset_metadata_bytes_max
    text_bytes = 0
    for item in partitions:
        index = item.partition_index
        metadata = item.committed_metadata or ""
        if metadata:
            if len(metadata) > longest:
                codes[topic.name, index] = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            text_bytes += getsizeof(metadata)
        codes[topic.name, index] = ErrorCode.NONE
        leader_epoch = field(item, "committed_leader_epoch", NO_EPOCH)
        committed = CommittedOffset(item.committed_offset, leader_epoch, metadata, now_ms, expire_ms, topic.topic_id)
        changes[topic.name, index] = OffsetChange(topic.name, index, committed)
    return text_bytes


async def _commit(
    broker: Broker,
    request: OffsetCommit,
    codes: Codes,
    changes: Changes,
    text_bytes: int,
    turns: Turns,
) -> None:
    body = request.body
    claim = CommitClaim(
        member_id=body.member_id,
        instance_id=field(body, "group_instance_id"),
        generation=body.generation_id_or_member_epoch,
        knows_epochs=request.version >= 9,
    )
    try:
        with broker.group_share.taken(request.session, body.group_id):
            await broker.groups.commit(body.group_id, claim, list(changes.values()), text_bytes)
    except KafkaError as error:
        for place in codes:
            codes[place] = error.code
            await turns.pause()
