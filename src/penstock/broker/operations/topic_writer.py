"""Records of one request into one topic, message by message: checked, gathered, appended, answered when visible.

The admin API and the test endpoints write this way. All records are checked before the first is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import count

from penstock.broker.operations.topics import TopicOperations
from penstock.broker.records.appender import RecordAppender, check_key
from penstock.broker.records.batcher import Batcher, Gatherer
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic
from penstock.config.settings import TopicSettings
from penstock.model.batch import HEADER_BYTES
from penstock.model.batch_builder import NewRecord, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TOPIC_ID
from penstock.model.murmur2 import partition_of
from penstock.model.topic_name import INTERNAL_NAMES, check_topic_name
from penstock.runtime.clock import Clock
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.storage.interface import LogConfig

Placed = tuple[int | None, NewRecord]
"""A record and the partition that was asked for."""


class TopicWriters:
    """Opens a writer for each request. One for all doors."""

    def __init__(
        self,
        *,
        topics: TopicOperations,
        partitions: PartitionTable,
        backend: PartitionBackend,
        appender: RecordAppender,
        clock: Clock,
        settings: TopicSettings,
    ) -> None:
        self._topics = topics
        self._partitions = partitions
        self._backend = backend
        self._appender = appender
        self._clock = clock
        self._settings = settings

    def open(self, session: Session, name: str) -> TopicWriter:
        """KafkaError if the session may not write to the topic, or the topic takes no writes."""
        topic = self._topics.find(session, name, Operation.WRITE)
        check_topic_name(name)
        is_internal = name in INTERNAL_NAMES or (topic is not None and topic.internal)
        self._appender.check_topic(name, internal=is_internal, mirror=topic is not None and topic.mirror)
        return TopicWriter(self, session, self._planned(name) if topic is None else topic)

    def _planned(self, name: str) -> Topic:
        """The form that a missing topic will have. KafkaError if it may not be created."""
        if not self._settings.auto_create:
            text = f"there is no topic {name}; create it first: penstock topic create {name}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        count = self._settings.default_partitions
        return Topic(
            name=name, topic_id=NO_TOPIC_ID, partition_count=count, configs={}, internal=False, leader_epochs=()
        )

    async def create(self, session: Session, planned: Topic) -> Topic:
        return await self._topics.auto_create(session, planned.name)

    def log_config(self, topic: Topic) -> LogConfig:
        """The config that the logs of the topic have, or will have."""
        return self._backend.log_config(topic)

    def gatherer(self, topic: Topic, index: int, loop: asyncio.AbstractEventLoop) -> Gatherer:
        partition = self._partitions.get(topic.name, index)
        return Gatherer(Batcher(partition, self._appender, self._clock), loop.call_soon)


class TopicWriter:
    """Writer of one request's records into one topic, which is created with the first message."""

    def __init__(self, writers: TopicWriters, session: Session, topic: Topic) -> None:
        self._writers = writers
        self._session = session
        self._topic = topic
        self._turn = count()
        self._loop = asyncio.get_running_loop()
        self._gatherers: dict[int, Gatherer] = {}
        self.offsets: dict[int, tuple[int, int]] = {}
        """First and last offset of the stored records, by partition."""
        self.written = 0
        self._failure: KafkaError | None = None

    def check(self, records: Iterable[Placed]) -> None:
        """KafkaError for the first that the topic would refuse."""
        config = self._writers.log_config(self._topic)
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
        """Write records and return when all are on disk. KafkaError if one is not; those before it are."""
        if self._topic.topic_id == NO_TOPIC_ID:
            self._topic = await self._writers.create(self._session, self._topic)
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
            self._gatherers[index] = self._writers.gatherer(self._topic, index, self._loop)
        return self._gatherers[index]
