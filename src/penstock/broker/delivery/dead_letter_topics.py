"""Dead-letter topics, `<topic>.<subscription>.dead`: messages that were delivered too often and never done.

A dead letter is the message with its key, body and properties; further headers say where it came from. It is on disk
before its offset counts as done; a crash in between can store it twice. A message of a packed batch may unpack to more
than the topic takes: its dead letter has no body and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.broker.delivery.core.poison import DeadLetter
from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.batcher import Batcher, Done, Gatherer
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.controller.topics_frontend import TopicsFrontend
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import decode_items
from penstock.runtime.clock import Clock

_MESSAGE_BYTES_MAX = 0x7FFFFFFF
_MORE_BYTES = 64 * 1024
"""Bytes that the headers of a dead letter and its batch may add to a message."""
_KEY_BYTES_MAX = 1024
"""A longer key is left out with the body."""
_ORIGIN_HEADERS = 7
TOO_LARGE = frozenset((ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE))
"""Refusals that are final."""


def dead_letter_topic(topic: str, subscription: str) -> str:
    return f"{topic}.{subscription}.dead"


class DeadLetterTopics:
    """The dead-letter topics of a node: created when they are first needed, and written to."""

    def __init__(
        self,
        *,
        topics: TopicTable,
        partitions: PartitionTable,
        frontend: TopicsFrontend,
        appender: RecordAppender,
        clock: Clock,
    ) -> None:
        self._topics = topics
        self._partitions = partitions
        self._frontend = frontend
        self._appender = appender
        self._clock = clock

    async def store(
        self, subscription: str, source: str, letters: Sequence[tuple[DeadLetter, bytes]]
    ) -> Sequence[tuple[DeadLetter, KafkaError | None]]:
        """Store messages of one partition of the topic `source`, given as encoded items.

        Each is returned with None if it is on disk, or with the reason; one that is too large is stored without its
        body. KafkaError if none can be stored.
        """
        topic = await self._topic(source, dead_letter_topic(source, subscription))
        partition = self._partitions.get(topic.name, letters[0][0].partition % topic.partition_count)
        now_ms = self._clock.now_ms()
        records = [_record(subscription, source, letter, item, now_ms) for letter, item in letters]
        outcomes = await self._store(partition, records)
        refused = [index for index, outcome in enumerate(outcomes) if outcome is not None and outcome.code in TOO_LARGE]
        if refused:
            small = [_without_body(records[index]) for index in refused]
            for index, outcome in zip(refused, await self._store(partition, small), strict=True):
                if outcome is None or outcome.code is not ErrorCode.INVALID_RECORD:  # which misses the long key
                    outcomes[index] = outcome
        return [(letter, outcome) for (letter, _), outcome in zip(letters, outcomes, strict=True)]

    async def _store(self, partition: Partition, records: Sequence[NewRecord]) -> list[KafkaError | None]:
        loop = asyncio.get_running_loop()
        gatherer = Gatherer(Batcher(partition, self._appender, self._clock), loop.call_soon)
        outcomes: list[asyncio.Future[KafkaError | None]] = []
        for record in records:
            outcome: asyncio.Future[KafkaError | None] = loop.create_future()
            outcomes.append(outcome)
            gatherer.add(record, _teller(outcome))
        return list(await asyncio.gather(*outcomes))

    async def _topic(self, source: str, name: str) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            (made,) = await self._frontend.create([NewTopic(name=name, configs=self.configs(source))])
            if isinstance(made, KafkaError) and made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise made
            topic = self._topics.get(name)
            if topic is None and isinstance(made, KafkaError):
                raise made  # its name collides with that of another topic
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        return topic

    def configs(self, source: str) -> Sequence[tuple[str, str | None]]:
        """Configs of a new dead-letter topic: a message that fits the source topic has to fit there, too."""
        longest = self._partitions.get(source, 0).config.max_message_bytes
        return (("max.message.bytes", str(min(longest + _MORE_BYTES, _MESSAGE_BYTES_MAX))),)


def _teller(outcome: asyncio.Future[KafkaError | None]) -> Done:
    def done(_: int, error: KafkaError | None) -> None:
        if not outcome.done():  # the subscription may have ended meanwhile
            outcome.set_result(error)

    return done


def _record(subscription: str, source: str, letter: DeadLetter, item: bytes, now_ms: int) -> NewRecord:
    (message,), _ = decode_items(item, 0, 1)
    origin = {
        "dead-letter-topic": source,
        "dead-letter-partition": str(letter.partition),
        "dead-letter-offset": str(letter.offset),
        "dead-letter-timestamp": str(message.timestamp),
        "dead-letter-subscription": subscription,
        "dead-letter-deliveries": str(letter.deliveries),
        "dead-letter-reason": f"not acknowledged after {letter.deliveries} deliveries",
    }
    own = ((name.decode("utf-8", "surrogateescape"), value) for name, value in message.properties)
    # The message's own time to live is left out: it ended with the subscription's attempts, and would hide the letter.
    assert len(origin) == _ORIGIN_HEADERS
    headers = (
        *((name, value) for name, value in own if name != "ttl-ms"),
        *((name, text.encode()) for name, text in origin.items()),
    )
    return NewRecord(message.key, message.body, headers, now_ms)


def _without_body(record: NewRecord) -> NewRecord:
    """A dead letter that is too large for its topic, with nothing but where it came from."""
    size = len(record.value or b"")
    note = ("dead-letter-body", f"left out: {size} bytes, which this topic does not take".encode())
    key = record.key if record.key is None or len(record.key) <= _KEY_BYTES_MAX else None
    # Empty and not null: in a compacted topic that would delete an earlier letter of the key.
    return NewRecord(key, b"", (*record.headers[-_ORIGIN_HEADERS:], note), record.timestamp)
