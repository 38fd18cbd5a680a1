"""Consumers: one that follows all partitions and is put back now and then, and one that is a member of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from penstock.testing.consistency.history import NOWHERE, Assignment, Isolation, Partition, Poll, Position, Seen
from penstock.testing.consistency.history_file import Recorder, now
from tests.chaos.clients.confluent import QUIET
from tests.chaos.plan import PARTITIONS, TOPICS

POLL_SECONDS = 0.25
POLL_MAX = 50
SEEK_SHARE = 0.01
MEMBERS_GROUP = "chaos-members"


def consumer_settings(bootstrap: str, isolation: Isolation) -> dict[str, str | int | bool]:
    return {
        **QUIET,
        "bootstrap.servers": bootstrap,
        "group.id": "chaos-readers",
        "isolation.level": isolation,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 50,
        "session.timeout.ms": 6000,
    }


def seen(message: Message) -> Seen | None:
    """None for an event that is no record."""
    topic, index, offset, value = message.topic(), message.partition(), message.offset(), message.value()
    if message.error() is not None or topic is None or index is None or offset is None or value is None:
        return None
    return Seen(topic, index, offset, value.decode())


class _Notes:
    """Notes polls and assignments of one consumer."""

    def __init__(self, recorder: Recorder, isolation: Isolation) -> None:
        self._recorder = recorder
        self._isolation = isolation

    def poll(self, started: int, records: Iterable[Seen]) -> None:
        records = tuple(records)
        if records:
            self._recorder.note(
                Poll(
                    client=self._recorder.client,
                    number=self._recorder.number(),
                    started=started,
                    ended=now(),
                    isolation=self._isolation,
                    records=records,
                )
            )

    def assigned(self, positions: dict[Partition, int]) -> None:
        time = now()
        self._recorder.note(
            Assignment(
                client=self._recorder.client,
                number=self._recorder.number(),
                started=time,
                ended=time,
                positions=tuple(Position(*partition, offset) for partition, offset in positions.items()),
            )
        )


class Reader:
    """Follows every partition from its beginning."""

    def __init__(self, bootstrap: str, recorder: Recorder, random: Random, isolation: Isolation) -> None:
        self._consumer = Consumer(consumer_settings(bootstrap, isolation))
        self._notes = _Notes(recorder, isolation)
        self._random = random
        self._positions: dict[Partition, int] = dict.fromkeys(PARTITIONS, 0)

    def run(self, leaving: Callable[[], bool]) -> None:
        self._assign()
        while not leaving():
            started = now()
            messages = self._consumer.consume(POLL_MAX, POLL_SECONDS)
            records = [record for record in map(seen, messages) if record is not None]
            self._notes.poll(started, records)
            self._positions.update({record.partition: record.offset + 1 for record in records})
            if self._random.random() < SEEK_SHARE:
                self._positions = {each: self._random.randint(0, end) for each, end in self._positions.items()}
                self._assign()
        self._consumer.close()

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(*partition, offset) for partition, offset in self._positions.items()])
        self._notes.assigned(self._positions)


class Member:
    """Shares the partitions with others; where it begins after a rebalance the group knows."""

    def __init__(self, bootstrap: str, recorder: Recorder, random: Random) -> None:
        settings = consumer_settings(bootstrap, Isolation.COMMITTED)
        settings |= {"group.id": MEMBERS_GROUP, "auto.offset.reset": "earliest"}
        self._consumer = Consumer(settings)
        self._notes = _Notes(recorder, Isolation.COMMITTED)
        self._random = random
        self._started = 0
        self._records: list[Seen] = []

    def run(self, leaving: Callable[[], bool]) -> None:
        self._consumer.subscribe(
            list(TOPICS), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )
        while not leaving():
            self._started = now()
            for _ in range(POLL_MAX):
                message = self._consumer.poll(POLL_SECONDS)
                record = None if message is None else seen(message)
                if record is None:
                    break
                self._records.append(record)
            self._note_poll()
            self._commit()
        self._consumer.close()

    def _note_poll(self) -> None:
        self._notes.poll(self._started, self._records)
        self._records = []

    def _commit(self) -> None:
        if self._random.random() < 0.3:
            try:
                self._consumer.commit(asynchronous=True)
            except KafkaException:
                pass  # nothing read since, or the group is being rebalanced

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._note_poll()  # what came before belongs to the assignment before
        self._notes.assigned({Partition(each.topic, each.partition): NOWHERE for each in partitions})

    def _on_revoke(self, _: Consumer, __: list[TopicPartition]) -> None:
        self._note_poll()
        self._notes.assigned({})
