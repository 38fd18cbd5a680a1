"""OffsetFetch (key 9, v1–10): the offsets that groups have committed, as far as they are on disk.

Behaviour:
- A partition without a committed offset has offset -1 and no error, whether the group, the topic or the partition is
  unknown.

Differs from Kafka:
- Positions of push subscriptions are shown without their metadata.

Version notes:
- v2: null topics ask for everything, and errors are at the top; v1 has them in each partition.
- v5 adds leader epochs, v7 require_stable (UNSTABLE_OFFSET_COMMIT where an open transaction may change the offset), v8
  several groups, v9 member id and epoch (which classic groups do not check), v10 topic ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, cast

from penstock.broker.broker import Broker
from penstock.broker.groups.offsets.group_offsets import Table
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.broker.progress.position import is_position_text
from penstock.broker.request import Request
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, NO_TOPIC_ID
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.offset_fetch import (
        OffsetFetchBuilders,
        OffsetFetchResponse,
        OffsetFetchResponseGroup,
    )
    from penstock.protocol.kafka.requests.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )

    OffsetFetch = Request[OffsetFetchRequest, OffsetFetchBuilders]

_NEVER = CommittedOffset(-1, NO_EPOCH, "", NO_TIMESTAMP)


def handle(broker: Broker, request: OffsetFetch) -> OffsetFetchResponse:
    if request.version >= 8:
        groups = [_group(broker, request, group) for group in request.body.groups]
        return request.reply.OffsetFetchResponse(groups=groups)
    code, topics = _fetch(broker, request, request.body)
    if code is not ErrorCode.NONE and request.version < 2:
        topics = [_topic(request, item, None, item.partition_indexes, {}, code) for item in request.body.topics or ()]
    return request.reply.OffsetFetchResponse(topics=topics, error_code=code)


def _group(broker: Broker, request: OffsetFetch, body: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    code, topics = _fetch(broker, request, body)
    return request.reply.OffsetFetchResponseGroup(group_id=body.group_id, topics=topics, error_code=code)


def _fetch(
    broker: Broker, request: OffsetFetch, body: OffsetFetchRequest | OffsetFetchRequestGroup
) -> tuple[ErrorCode, list[Entity]]:
    try:
        committed = broker.operations.offsets.committed(request.session, body.group_id)
    except KafkaError as error:
        return error.code, []
    is_unstable = _unstable(broker, request, body.group_id)
    if body.topics is None:
        return ErrorCode.NONE, _everything(broker, request, committed, is_unstable)
    topics = []
    for wanted in body.topics:
        code, topic = ErrorCode.NONE, None
        offsets: dict[int, CommittedOffset] = {}
        if request.version < 10:
            offsets = committed.get(wanted.name, {})
        else:
            topic = broker.topics.get_by_id(cast("OffsetFetchRequestTopics", wanted).topic_id)
            code = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.NONE
            offsets = {} if topic is None else committed.get(topic.name, {})
        name = wanted.name if request.version < 10 else "" if topic is None else topic.name
        if name and not broker.operations.offsets.describable(request.session, name):
            code, offsets = ErrorCode.TOPIC_AUTHORIZATION_FAILED, {}
        unstable = {index for index in wanted.partition_indexes if is_unstable(name, index)}
        topics.append(_topic(request, wanted, topic, wanted.partition_indexes, offsets, code, unstable))
    return ErrorCode.NONE, topics


def _unstable(broker: Broker, request: OffsetFetch, group_id: str) -> Callable[[str, int], bool]:
    if not field(request.body, "require_stable", False):
        return lambda topic, partition: False
    return lambda topic, partition: broker.groups.is_pending(group_id, topic, partition)


def _everything(
    broker: Broker,
    request: OffsetFetch,
    committed: Table,
    is_unstable: Callable[[str, int], bool],
) -> list[Entity]:
    topics = []
    for name, offsets in committed.items():
        if not broker.operations.offsets.describable(request.session, name):
            continue
        topic = broker.topics.get(name)
        if topic is not None or request.version < 10:  # without a topic there is no id to say
            unstable = {index for index in offsets if is_unstable(name, index)}
            topics.append(_topic(request, _Named(name, topic), topic, offsets, offsets, ErrorCode.NONE, unstable))
    return topics


class _Named:
    """A topic that the client did not name."""

    def __init__(self, name: str, topic: Topic | None) -> None:
        self.name = name
        self.topic_id = None if topic is None else topic.topic_id


def _topic(
    request: OffsetFetch,
    wanted: Entity,
    topic: Topic | None,
    indexes: Iterable[int],
    offsets: dict[int, CommittedOffset],
    code: ErrorCode,
    unstable: Collection[int] = (),
) -> Entity:
    reply = request.reply
    # Versions differ in the names of the classes, not in their fields.
    partition: Any = reply.OffsetFetchResponsePartitions if request.version >= 8 else reply.OffsetFetchResponsePartition
    partitions = []
    for index in indexes:
        found = _NEVER if index in unstable else offsets.get(index, _NEVER)
        if topic is not None and found.topic_id not in (NO_TOPIC_ID, topic.topic_id):
            found = _NEVER  # committed for a topic of the same name that is gone
        partitions.append(
            partition(
                partition_index=index,
                committed_offset=found.offset,
                committed_leader_epoch=found.leader_epoch,
                metadata="" if is_position_text(found.metadata) else found.metadata,
                error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT if index in unstable else code,
            )
        )
    build = reply.OffsetFetchResponseTopics if request.version >= 8 else reply.OffsetFetchResponseTopic
    named = {"topic_id": wanted.topic_id} if request.version >= 10 else {"name": wanted.name}
    return build(partitions=partitions, **named)
