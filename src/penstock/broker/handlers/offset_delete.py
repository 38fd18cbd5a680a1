"""OffsetDelete v0: forget offsets of topics that the group does not read (KIP-496).

A topic that a member subscribed to is refused with GROUP_SUBSCRIBED_TO_TOPIC, partition by partition.
"""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.messages import Entity


async def handle(broker: Broker, call: Call) -> Entity:
    reply = call.reply
    existing = []
    for wanted in call.request.topics:
        topic = broker.topics.get(wanted.name)
        count = 0 if topic is None else topic.partition_count
        existing += [
            (wanted.name, item.partition_index) for item in wanted.partitions if 0 <= item.partition_index < count
        ]
    codes: dict[tuple[str, int], ErrorCode] = {}
    if existing or not call.request.topics:
        try:
            codes = await broker.groups.delete_offsets(call.request.group_id, existing)
        except KafkaError as error:
            return reply.OffsetDeleteResponse(error_code=error.code, throttle_time=0, topics=())
    topics = []
    for wanted in call.request.topics:
        partitions = []
        for item in wanted.partitions:
            code = codes.get((wanted.name, item.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            partitions.append(
                reply.OffsetDeleteResponsePartition(partition_index=item.partition_index, error_code=code)
            )
        topics.append(reply.OffsetDeleteResponseTopic(name=wanted.name, partitions=partitions))
    return reply.OffsetDeleteResponse(error_code=ErrorCode.NONE, throttle_time=0, topics=topics)
