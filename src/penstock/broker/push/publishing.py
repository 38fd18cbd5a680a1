"""From PUBLISH to the log: messages for a partition that arrive together are one batch, and each is stored once.

A message with a sequence is written as its client's producer. A message that is already in the log is not written again
but answered with its old offset; a gap is refused. Answers go out when the batch is on disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.batcher import Batcher, Gatherer
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.murmur2 import partition_of
from penstock.protocol.push.messages import NO_PARTITION, NO_SEQUENCE, Publish, PublishAck, encode
from penstock.runtime.clock import Clock
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

SEQUENCE_MASK: Final = 0x7FFFFFFF
_BEHIND: Final = 1 << 30

WRITE = Operation.WRITE  # looked up once: members of an enum are slow to find


class Answers(Protocol):
    """The connection of a publisher."""

    def send(self, data: bytes) -> None: ...
    def refuse(self, message_id: int, error: KafkaError) -> None: ...
    def answered(self, count: int) -> None: ...


class _Stored(NamedTuple):
    message_id: int
    offset: int
    timestamp: int


class Publisher:
    """The publisher, shared by all connections."""

    def __init__(
        self,
        *,
        topics: TopicTable,
        partitions: PartitionTable,
        access: Access,
        appender: RecordAppender,
        clock: Clock,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self._topics = topics
        self._partitions = partitions
        self._access = access
        self._appender = appender
        self._clock = clock
        self._call_soon = call_soon
        self._gatherers: dict[Partition, Gatherer] = {}
        self._turns = itertools.count()
        self.published = 0
        self.duplicates = 0

    def publish(self, messages: list[tuple[int, Publish, int]], session: Session, answers: Answers) -> None:
        """Publish messages of a connection, each with its id and its client's producer id (-1 without a sequence)."""
        runs: dict[tuple[str, int, int], _Run] = {}
        for message_id, message, producer_id in messages:
            try:
                if message.sequence == NO_SEQUENCE:
                    self._publish_any(message_id, message, session, answers)
                    continue
                place = (message.topic, message.partition, producer_id)
                run = runs.get(place)
                if run is None:
                    run = runs[place] = _Run(self, self._writable(session, *place[:2]), producer_id, answers)
                run.add(message_id, message)
            except KafkaError as error:
                answers.refuse(message_id, error)
        for run in runs.values():
            run.append()

    def check(self, session: Session, message: Publish) -> None:
        """KafkaError unless the session may publish the message, and its partition can take it."""
        self._writable(session, message.topic, message.partition)

    def _writable(self, session: Session, topic: str, index: int) -> Partition:
        self._access.check_topic(session, WRITE, topic)
        if topic not in self._topics:
            text = f"there is no topic {topic!r}; create it, for instance with `penstock push create-topic {topic}`"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        try:
            partition = self._partitions.get(topic, index)
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise KafkaError(error.code, f"topic {topic!r} has no partition {index}") from None
            raise
        self._appender.check_writable(partition)
        return partition

    def batcher(self, partition: Partition) -> Batcher:
        return Batcher(partition, self._appender, self._clock)

    def _publish_any(self, message_id: int, message: Publish, session: Session, answers: Answers) -> None:
        """Publish a message without a sequence, batched with those of other connections in this turn of the loop."""
        index = message.partition
        if index == NO_PARTITION:
            topic = self._topics.get(message.topic)
            count = 1 if topic is None else topic.partition_count
            index = next(self._turns) % count if message.key is None else partition_of(message.key, count)
        partition = self._writable(session, message.topic, index)
        gatherer = self._gatherers.get(partition)
        if gatherer is None:
            if len(self._gatherers) > 1000:
                self._gatherers.clear()  # the records that they hold are appended all the same
            gatherer = self._gatherers[partition] = Gatherer(self.batcher(partition), self._call_soon)
        record, timestamp = self.record(message)

        def done(offset: int, error: KafkaError | None) -> None:
            if error is not None:
                answers.refuse(message_id, error)
            else:
                self.published += 1
                answers.send(encode(PublishAck(index, offset, timestamp), message_id))
                answers.answered(1)

        gatherer.add(record, done)

    def record(self, message: Publish) -> tuple[NewRecord, int]:
        headers = tuple([(name.decode("utf-8", "surrogateescape"), value) for name, value in message.properties])
        timestamp = self._clock.now_ms() if message.timestamp < 0 else message.timestamp
        return NewRecord(message.key, message.body, headers, timestamp), timestamp


class _Run:
    """Messages that one producer publishes to one partition, in their order."""

    __slots__ = ("_answers", "_batcher", "_expected", "_first", "_partition", "_producer_id", "_publisher", "_waiting")

    def __init__(self, publisher: Publisher, partition: Partition, producer_id: int, answers: Answers) -> None:
        self._publisher = publisher
        self._partition = partition
        self._producer_id = producer_id
        self._answers = answers
        known = partition.producer(producer_id)
        self._expected = None if known is None else (known.last_sequence + 1) & SEQUENCE_MASK
        self._first = 0
        self._batcher = publisher.batcher(partition)
        self._waiting: list[tuple[int, int]] = []  # message id and timestamp of those in the batch

    def add(self, message_id: int, message: Publish) -> None:
        """Add a message. KafkaError if its sequence is neither the next one nor one of the last ones stored."""
        sequence = message.sequence & SEQUENCE_MASK
        ahead = 0 if self._expected is None else (sequence - self._expected) & SEQUENCE_MASK
        if ahead >= _BEHIND:
            self.append()  # the message may repeat one of those that are gathered
            self._answer_again(message_id, sequence)
            return
        if ahead:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"sequence {message.sequence} where {self._expected} comes next; send what is missing first",
            )
        record, timestamp = self._publisher.record(message)
        if not self._batcher.add(record):
            self.append()
            self._batcher.add(record)
        if not self._waiting:
            self._first = sequence
        self._waiting.append((message_id, timestamp))
        self._expected = (sequence + 1) & SEQUENCE_MASK

    def append(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            appended = self._batcher.append(producer_id=self._producer_id, producer_epoch=0, base_sequence=self._first)
        except KafkaError as error:
            self._expected = self._first
            for message_id, _ in waiting:
                self._answers.refuse(message_id, error)
            return
        append_time_ms = appended.append_time_ms
        stored = [
            _Stored(message_id, offset, append_time_ms if append_time_ms >= 0 else timestamp)
            for offset, (message_id, timestamp) in enumerate(waiting, appended.base_offset)
        ]
        self._publisher.published += len(stored)
        self._when_visible(appended.last_offset, stored)

    def _answer_again(self, message_id: int, sequence: int) -> None:
        found = self._partition.find_sequence(self._producer_id, sequence)
        if found is None:
            raise KafkaError(
                ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
                f"sequence {sequence} was stored before, and its offset is not known any more",
            )
        self._publisher.duplicates += 1
        offset, timestamp = found
        self._when_visible(offset, [_Stored(message_id, offset, timestamp)])

    def _when_visible(self, last_offset: int, stored: list[_Stored]) -> None:
        index, answers = self._partition.index, self._answers

        def visible(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                for message_id, _, _ in stored:
                    answers.refuse(message_id, KafkaError(code))
                return
            answers.send(b"".join([encode(PublishAck(index, offset, ts), key) for key, offset, ts in stored]))
            answers.answered(len(stored))

        self._partition.when_visible(last_offset, visible)
