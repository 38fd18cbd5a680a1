"""OffsetFetch v1-10: what groups have committed, as far as it is on disk.

Versions:
- v2 null topics ask for everything, and errors are on top; v1 has them in each partition.
- v5 leader epochs, v7 require_stable (UNSTABLE_OFFSET_COMMIT where an open transaction may change the offset),
  v8 several groups, v9 member id and epoch (which classic groups do not check), v10 topic ids.

What was never committed is offset -1 without an error, whether the group, the topic or the partition is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.delivery.core.position import is_position_text
from penstock.broker.groups.offsets import Table
from penstock.broker.groups.records import CommittedOffset
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, NO_TOPIC_ID
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field

_NEVER = CommittedOffset(-1, NO_EPOCH, "", NO_TIMESTAMP)


def handle(broker: Broker, call: Call) -> Entity:
    if call.version >= 8:
        groups = [_group(broker, call, group) for group in call.request.groups]
        return call.reply.OffsetFetchResponse(throttle_time=0, groups=groups)
    code, topics = _fetch(broker, call, call.request)
    if code is not ErrorCode.NONE and call.version < 2:
        topics = [_topic(call, item, None, item.partition_indexes, {}, code) for item in call.request.topics]
    return call.reply.OffsetFetchResponse(throttle_time=0, topics=topics, error_code=code)


def _group(broker: Broker, call: Call, request: Entity) -> Entity:
    code, topics = _fetch(broker, call, request)
    return call.reply.OffsetFetchResponseGroup(group_id=request.group_id, topics=topics, error_code=code)


def _fetch(broker: Broker, call: Call, request: Entity) -> tuple[ErrorCode, list[Entity]]:
    try:
        committed = broker.groups.committed(request.group_id)
    except KafkaError as error:
        return error.code, []
    is_unstable = _unstable(broker, call, request.group_id)
    if request.topics is None:
        return ErrorCode.NONE, _everything(broker, call, committed, is_unstable)
    topics = []
    for wanted in request.topics:
        code, topic = ErrorCode.NONE, None
        offsets: dict[int, CommittedOffset] = {}
        if call.version < 10:
            offsets = committed.get(wanted.name, {})
        else:
            topic = broker.topics.get_by_id(wanted.topic_id)
            code = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.NONE
            offsets = {} if topic is None else committed.get(topic.name, {})
        name = wanted.name if call.version < 10 else "" if topic is None else topic.name
        unstable = {index for index in wanted.partition_indexes if is_unstable(name, index)}
        topics.append(_topic(call, wanted, topic, wanted.partition_indexes, offsets, code, unstable))
    return ErrorCode.NONE, topics


def _unstable(broker: Broker, call: Call, group_id: str) -> Callable[[str, int], bool]:
    if not field(call.request, "require_stable", False):
        return lambda topic, partition: False
    return lambda topic, partition: broker.groups.is_pending(group_id, topic, partition)


def _everything(broker: Broker, call: Call, committed: Table, is_unstable: Callable[[str, int], bool]) -> list[Entity]:
    topics = []
    for name, offsets in committed.items():
        topic = broker.topics.get(name)
        if topic is not None or call.version < 10:  # without a topic there is no id to say
            unstable = {index for index in offsets if is_unstable(name, index)}
            topics.append(_topic(call, _Named(name, topic), topic, offsets, offsets, ErrorCode.NONE, unstable))
    return topics


class _Named:
    """A topic that the client did not name."""

    def __init__(self, name: str, topic: Topic | None) -> None:
        self.name = name
        self.topic_id = None if topic is None else topic.topic_id


def _topic(
    call: Call,
    wanted: Entity,
    topic: Topic | None,
    indexes: Iterable[int],
    offsets: dict[int, CommittedOffset],
    code: ErrorCode,
    unstable: Collection[int] = (),
) -> Entity:
    reply = call.reply
    partition = reply.OffsetFetchResponsePartitions if call.version >= 8 else reply.OffsetFetchResponsePartition
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
    build = reply.OffsetFetchResponseTopics if call.version >= 8 else reply.OffsetFetchResponseTopic
    named = {"topic_id": wanted.topic_id} if call.version >= 10 else {"name": wanted.name}
    return build(partitions=partitions, **named)
