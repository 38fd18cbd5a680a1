"""DescribeTopicPartitions (key 75, v0): topics and their partitions, page by page, in the order of names (KIP-966).

Behaviour:
- No topics named means all. At most `response_partition_limit` partitions an answer, never more than 2,000; a next
  cursor says where the rest begins.
- A cursor starts at its topic and partition. With names given, its topic must be one of them, and its partition not
  negative: INVALID_REQUEST for every name otherwise.
- Names that may not be described are behind the others of the page.
- A page that is full at the end of a topic ends there: the cursor names the first partition of the next.

Differs from Kafka: no.

Version notes: none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.broker.answers.authorized_operations import topic_operations
from penstock.broker.request import Request
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode
from penstock.model.topic_name import INTERNAL_NAMES, is_topic_name
from penstock.protocol.kafka.topic_metadata import NOT_ASKED, topic_partitions_writer
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.describe_topic_partitions import DescribeTopicPartitionsBuilders
    from penstock.protocol.kafka.requests.describe_topic_partitions import DescribeTopicPartitionsRequest

    DescribeTopicPartitions = Request[DescribeTopicPartitionsRequest, DescribeTopicPartitionsBuilders]

PARTITIONS_MAX = 2_000
"""Kafka's max.request.partition.size.limit."""
NAMES_AT_ONCE = 1_000


async def handle(broker: Broker, request: DescribeTopicPartitions) -> bytes:
    body = request.body
    cursor = body.cursor
    turns = Turns()
    named: list[str] = []
    for each in body.topics:
        named.append(each.name)
        await turns.pause()
    if cursor is not None and (
        cursor.partition_index < 0 or not cursor.topic_name or (named and cursor.topic_name not in named)
    ):
        return await _all_failed(named, ErrorCode.INVALID_REQUEST)
    if cursor is None and "" in named:  # Kafka stumbles over it, and answers nothing else
        return await _all_failed(named, ErrorCode.UNKNOWN_SERVER_ERROR)
    start = cursor.topic_name if cursor is not None else ""
    room = min(max(body.response_partition_limit, 1), PARTITIONS_MAX)
    topics: list[bytes] = []
    refused: list[bytes] = []
    wanted = await _names(named, start) if named else broker.topics.names_from(start)
    may_describe = broker.access.allows_topic if named else broker.access.shows_topic
    for name in wanted:
        await turns.pause()
        if not may_describe(request.session, Operation.DESCRIBE, name):
            if named:
                refused.append(_failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, NOT_ASKED))
            continue
        topic = broker.topics.get(name)
        if topic is None:
            known = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
            topics.append(_failed(name, known, topic_operations(broker.access, request.session, name)))
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if room == 0:
            return _answer(topics + refused, (name, first))
        indexes = range(min(first, topic.partition_count), topic.partition_count)[:room]
        topics.append(_encoded(broker, request, topic, indexes))
        room -= len(indexes)
        if indexes.stop < topic.partition_count:
            return _answer(topics + refused, (name, indexes.stop))
    return _answer(topics + refused, None)


async def _names(named: list[str], start: str) -> Iterable[str]:
    """Each name once, in order, from one on."""
    return await asyncio.to_thread(_sorted, named, start) if len(named) > NAMES_AT_ONCE else _sorted(named, start)


def _sorted(named: list[str], start: str) -> Iterable[str]:
    return sorted({name for name in named if name >= start})


async def _all_failed(named: list[str], code: ErrorCode) -> bytes:
    topics, turns = [], Turns()
    for name in named:
        topics.append(_failed(name, code, NOT_ASKED))
        await turns.pause()
    return _answer(topics, None)


def _answer(topics: list[bytes], next_cursor: tuple[str, int] | None) -> bytes:
    return topic_partitions_writer().describe_topic_partitions(topics, next_cursor)


def _encoded(broker: Broker, request: DescribeTopicPartitions, topic: Topic, indexes: range) -> bytes:
    writer = topic_partitions_writer()
    return writer.topic(
        name=topic.name,
        topic_id=topic.topic_id,
        internal=topic.internal,
        partitions=writer.partitions(
            indexes,
            node_id=broker.node_id,
            leader_epochs=topic.leader_epochs,
            offline=broker.partitions.offline_in(topic),
        ),
        operations=topic_operations(broker.access, request.session, topic.name),
    )


def _failed(name: str, code: ErrorCode, operations: int) -> bytes:
    internal = name in INTERNAL_NAMES
    return topic_partitions_writer().topic(error=code, name=name, internal=internal, operations=operations)
