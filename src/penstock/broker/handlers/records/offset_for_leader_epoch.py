"""OffsetForLeaderEpoch (key 23, v2–4): where a leader epoch ended, so that a client sees whether its log still stands.

Behaviour:
- The end of the newest epoch that is not above the one asked for; -1 and -1 if there is none.
- Topics that may not be described are behind the others.

Differs from Kafka: no.

Version notes:
- v3 adds the replica id, v4 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Steps
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.offset_for_leader_epoch import (
        EpochEndOffset,
        OffsetForLeaderEpochBuilders,
        OffsetForLeaderEpochResponse,
        OffsetForLeaderTopicResult,
    )
    from penstock.protocol.kafka.requests.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )

    OffsetForLeaderEpoch = Request[OffsetForLeaderEpochRequest, OffsetForLeaderEpochBuilders]


def handle(broker: Broker, request: OffsetForLeaderEpoch) -> Steps[OffsetForLeaderEpochResponse]:
    reply = request.reply
    topics: list[OffsetForLeaderTopicResult] = []
    refused: list[OffsetForLeaderTopicResult] = []
    for topic in request.body.topics:
        partitions, is_refused = [], False
        for item in topic.partitions:
            partition = _end_of_epoch(broker, request, topic.topic, item)
            partitions.append(partition)
            is_refused = is_refused or int(partition.error_code) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            yield
        result = reply.OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions)
        (refused if is_refused else topics).append(result)
        yield
    return reply.OffsetForLeaderEpochResponse(topics=topics + refused)


def _end_of_epoch(
    broker: Broker,
    request: OffsetForLeaderEpoch,
    topic: str,
    item: OffsetForLeaderPartition,
) -> EpochEndOffset:
    code, epoch, end = ErrorCode.NONE, -1, -1
    try:
        partition = _partition(broker, request, topic, item.partition)
        if partition.failed:
            raise KafkaError(partition.failure)
        partition.check_epoch(item.current_leader_epoch)
        if item.leader_epoch == partition.leader_epoch:
            epoch, end = partition.leader_epoch, partition.high_watermark
        else:
            epoch, end = partition.epoch_end(item.leader_epoch)
    except KafkaError as error:
        code = error.code
    return request.reply.EpochEndOffset(error_code=code, partition=item.partition, leader_epoch=epoch, end_offset=end)


def _partition(broker: Broker, request: OffsetForLeaderEpoch, topic: str, index: int) -> Partition:
    """Clients may describe the topic; brokers have a right on the cluster."""
    access, session = broker.access, request.session
    if not access.shows_topic(session, Operation.DESCRIBE, topic) and access.shows_cluster(
        session, Operation.CLUSTER_ACTION
    ):
        return broker.partitions.get(topic, index)
    return broker.operations.records.partition(session, Operation.DESCRIBE, topic, index)
