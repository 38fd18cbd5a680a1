"""OffsetFetch (key 9, v1–10): the offsets that groups have committed, as far as they are on disk.

Behaviour:
- A partition without a committed offset has offset -1 and no error, whether the group, the topic or the partition is
  unknown.

Differs from Kafka:
- Positions of push subscriptions are shown without their metadata.
- A request whose answer would be larger than 100 MiB closes the connection.

Version notes:
- v2: null topics ask for everything, and errors are at the top; v1 has them in each partition.
- v5 adds leader epochs, v7 require_stable (UNSTABLE_OFFSET_COMMIT where an open transaction may change the offset), v8
  several groups, v9 member id and epoch (which classic groups do not check), v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast
from uuid import UUID

from penstock.broker.answers.answer_size import AnswerSize
from penstock.broker.broker import Broker
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.broker.progress.position import is_position_text
from penstock.broker.request import Request
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, NO_TOPIC_ID
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.offset_fetch import (
        OffsetFetchBuilders,
        OffsetFetchResponse,
        OffsetFetchResponseTopic,
        OffsetFetchResponseTopics,
    )
    from penstock.protocol.kafka.requests.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )

    OffsetFetch = Request[OffsetFetchRequest, OffsetFetchBuilders]

PARTITION_BYTES = 200
"""Memory of the answer for a partition besides its text, about."""
_NEVER = CommittedOffset(-1, NO_EPOCH, "", NO_TIMESTAMP)


class _Partition(TypedDict):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: ErrorCode


class _Topic(NamedTuple):
    """The answer for a topic. Versions differ in the names of the classes, and in how they name the topic."""

    name: str  # v1 to v9
    topic_id: UUID | None  # v10+
    partitions: list[_Partition]


def handle(broker: Broker, request: OffsetFetch) -> Steps[OffsetFetchResponse]:
    return _groups(broker, request) if request.version >= 8 else _single_group(broker, request)


def _groups(broker: Broker, request: OffsetFetch) -> Steps[OffsetFetchResponse]:
    size = AnswerSize(broker.flow)
    groups = []
    for body in request.body.groups:
        code, found = yield from _fetch(broker, request, body)
        topics = []
        for topic in found:
            topics.append((yield from _group_topic(request.reply, topic, size)))
        group = request.reply.OffsetFetchResponseGroup(group_id=body.group_id, topics=topics, error_code=code)
        groups.append(group)
        yield
    return request.reply.OffsetFetchResponse(groups=groups)


def _single_group(broker: Broker, request: OffsetFetch) -> Steps[OffsetFetchResponse]:
    code, found = yield from _fetch(broker, request, request.body)
    if code is not ErrorCode.NONE and request.version < 2:
        for item in request.body.topics or ():
            stable = partial(_is_stable, item.name)
            partitions = yield from _partitions(None, item.partition_indexes, {}, code, stable)
            found.append(_Topic(item.name, None, partitions))
    topics = []
    for topic in found:
        topics.append((yield from _single_group_topic(request.reply, topic)))
    return request.reply.OffsetFetchResponse(topics=topics, error_code=code)


def _single_group_topic(reply: OffsetFetchBuilders, topic: _Topic) -> Steps[OffsetFetchResponseTopic]:
    partitions = []
    for each in topic.partitions:
        partitions.append(reply.OffsetFetchResponsePartition(**each))
        yield
    return reply.OffsetFetchResponseTopic(name=topic.name, partitions=partitions)


def _group_topic(reply: OffsetFetchBuilders, topic: _Topic, size: AnswerSize) -> Steps[OffsetFetchResponseTopics]:
    partitions = []
    for each in topic.partitions:
        size.add(len(each["metadata"] or "") + PARTITION_BYTES)
        partitions.append(reply.OffsetFetchResponsePartitions(**each))
        yield
    return reply.OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


# --- committed offsets -----------------------------------------------------------------------------------------------


def _fetch(
    broker: Broker, request: OffsetFetch, body: OffsetFetchRequest | OffsetFetchRequestGroup
) -> Steps[tuple[ErrorCode, list[_Topic]]]:
    try:
        committed = broker.operations.offsets.committed(request.session, body.group_id)
    except KafkaError as error:
        return error.code, []
    is_unstable = _unstable(broker, request, body.group_id)
    if body.topics is None:
        return ErrorCode.NONE, (yield from _everything(broker, request, committed, is_unstable))
    topics = []
    for wanted in body.topics:
        code, topic, topic_id = ErrorCode.NONE, None, None
        if request.version < 10:
            name = wanted.name
        else:
            topic_id = cast("OffsetFetchRequestTopics", wanted).topic_id
            topic = broker.topics.get_by_id(topic_id)
            code = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.NONE
            name = "" if topic is None else topic.name
        offsets = {} if code is ErrorCode.UNKNOWN_TOPIC_ID else committed.get(name, {})
        if name and not broker.operations.offsets.describable(request.session, name):
            code, offsets = ErrorCode.TOPIC_AUTHORIZATION_FAILED, {}
        shown = is_unstable if code is ErrorCode.NONE else _is_stable  # of others, not even this is said
        partitions = yield from _partitions(topic, wanted.partition_indexes, offsets, code, partial(shown, name))
        topics.append(_Topic(name, topic_id, partitions))
        yield
    return ErrorCode.NONE, topics


def _unstable(broker: Broker, request: OffsetFetch, group_id: str) -> Callable[[str, int], bool]:
    if not field(request.body, "require_stable", False):
        return _is_stable
    return lambda topic, partition: broker.groups.is_pending(group_id, topic, partition)


def _is_stable(topic: str, partition: int) -> bool:
    return False


def _everything(
    broker: Broker,
    request: OffsetFetch,
    committed: Table,
    is_unstable: Callable[[str, int], bool],
) -> Steps[list[_Topic]]:
    topics = []
    for name, offsets in tuple(committed.items()):  # others may commit meanwhile
        yield
        if not broker.operations.offsets.describable(request.session, name):
            continue
        topic = broker.topics.get(name)
        if topic is not None or request.version < 10:  # without a topic there is no id to say
            shown = partial(is_unstable, name)
            partitions = yield from _partitions(topic, tuple(offsets), offsets, ErrorCode.NONE, shown)
            topics.append(_Topic(name, None if topic is None else topic.topic_id, partitions))
    return topics


def _partitions(
    topic: Topic | None,
    indexes: Iterable[int],
    offsets: dict[int, CommittedOffset],
    code: ErrorCode,
    is_unstable: Callable[[int], bool],
) -> Steps[list[_Partition]]:
    partitions: list[_Partition] = []
    for index in indexes:
        unstable = is_unstable(index)
        found = _NEVER if unstable else offsets.get(index, _NEVER)
        if topic is not None and found.topic_id not in (NO_TOPIC_ID, topic.topic_id):
            found = _NEVER  # committed for a topic of the same name that is gone
        partitions.append(
            {
                "partition_index": index,
                "committed_offset": found.offset,
                "committed_leader_epoch": found.leader_epoch,
                "metadata": "" if is_position_text(found.metadata) else found.metadata,
                "error_code": ErrorCode.UNSTABLE_OFFSET_COMMIT if unstable else code,
            }
        )
        yield
    return partitions
