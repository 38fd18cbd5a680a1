"""Records of one request into one topic, message by message: checked, gathered, appended, answered when visible.

All records are checked before the first is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from penstock.broker.records.appender import check_key
from penstock.broker.records.batcher import Batcher
from penstock.broker.records.gatherer import Gatherer
from penstock.cluster.topics import Topic
from penstock.model.batch import HEADER_BYTES
from penstock.model.batch_builder import NewRecord, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TOPIC_ID
from penstock.model.murmur2 import partition_of
from penstock.model.topic_name import INTERNAL_NAMES, check_topic_name
from penstock.security.resources import Operation
from penstock.security.session import Session

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

Placed = tuple[int | None, NewRecord]
"""A record and the partition that was asked for."""


class TopicWriter:
    """Writer of one request's records into one topic, which is created with the first message."""

    def __init__(self, broker: Broker, session: Session, name: str) -> None:
        """KafkaError if the session may not write there, or the topic takes no writes."""
        broker.access.check_topic(session, Operation.WRITE, name)
        self._broker = broker
        self._session = session
        self._topic = planned_topic(broker, name)
        self._turn = count()
        self._loop = asyncio.get_running_loop()
        self._gatherers: dict[int, Gatherer] = {}
        self.offsets: dict[int, tuple[int, int]] = {}
        """First and last offset of the stored records, by partition."""
        self.written = 0
        self._failure: KafkaError | None = None

    def check(self, records: Iterable[Placed]) -> None:
        """KafkaError for the first that the topic would refuse."""
        config = self._broker.controller.backend.log_config(self._topic)
        for number, (partition, record) in enumerate(records, 1):
            if partition is not None and partition >= self._topic.partition_count:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"message {number}: topic {self._topic.name} has no partition {partition}, only"
                    f" {self._topic.partition_count}",
                )
            try:
                check_key(record, config)
            except KafkaError as error:
                raise KafkaError(error.code, f"message {number}: {error.message}") from None
            if record_bytes_max(record) + HEADER_BYTES > config.max_message_bytes:
                raise KafkaError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"message {number} is larger than max.message.bytes of the topic, {config.max_message_bytes}",
                )

    async def write(self, records: Sequence[Placed]) -> None:
        """Returns when all of them are on disk. KafkaError if one is not; those before it are."""
        if self._topic.topic_id == NO_TOPIC_ID:
            self._topic = await self._broker.operations.topics.auto_create(self._session, self._topic.name)
        left = len(records)
        done = self._loop.create_future()

        def one_done(partition: int, offset: int, error: KafkaError | None) -> None:
            nonlocal left
            left -= 1
            if error is not None:
                self._failure = self._failure or error
            else:
                first, _ = self.offsets.get(partition, (offset, offset))
                self.offsets[partition] = first, offset
                self.written += 1
            if left == 0 and not done.done():
                done.set_result(None)

        for asked, record in records:
            partition = self._partition(asked, record.key)
            self._gatherer(partition).add(record, lambda offset, error, at=partition: one_done(at, offset, error))  # type: ignore[misc]
        if records:
            await done
        if self._failure is not None:
            raise self._failure

    def _partition(self, asked: int | None, key: bytes | None) -> int:
        if asked is not None:
            return asked
        if key is None:
            return next(self._turn) % self._topic.partition_count
        return partition_of(key, self._topic.partition_count)

    def _gatherer(self, index: int) -> Gatherer:
        if index not in self._gatherers:
            partition = self._broker.partitions.get(self._topic.name, index)
            self._gatherers[index] = Gatherer(
                Batcher(partition, self._broker.appender, self._broker.clock), self._loop.call_soon
            )
        return self._gatherers[index]


def planned_topic(broker: Broker, name: str) -> Topic:
    """The topic, or, if it is missing and may be created, its future form. KafkaError if it takes no writes."""
    check_topic_name(name)
    topic = broker.topics.get(name)
    is_internal = name in INTERNAL_NAMES or (topic is not None and topic.internal)
    broker.appender.check_topic(name, internal=is_internal, mirror=topic is not None and topic.mirror)
    if topic is None:
        if not broker.settings.topics.auto_create:
            text = f"there is no topic {name}; create it first: penstock topic create {name}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        count = broker.settings.topics.default_partitions
        return Topic(
            name=name, topic_id=NO_TOPIC_ID, partition_count=count, configs={}, internal=False, leader_epochs=()
        )
    return topic
