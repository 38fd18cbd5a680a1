"""A consumer group whose members come and go, and a check that it skips nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.soak.ledger import Partition
from tests.soak.plan import LOGGED
from tests.soak.producers import RDKAFKA
from tests.soak.world import Client, World
from tests.support import group_client
from tests.support.raw_client import RawClient

GROUP = "soak-group"
# What Kafka, too, says to a member while the group rebalances or the broker starts.
EXPECTED = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._NO_OFFSET,
    KafkaError._STATE,
    KafkaError._WAIT_COORD,
    KafkaError._TIMED_OUT,
    KafkaError._ASSIGNMENT_LOST,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)


class GroupProgress:
    """Which offsets some member of the group has been given, checked up to what it has committed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[Partition, bytearray] = {partition: bytearray() for partition in world.ledger.partitions}
        self._checked: dict[Partition, int] = dict.fromkeys(world.ledger.partitions, 0)

    def note(self, partition: Partition, offset: int) -> None:
        seen = self._seen[partition]
        if offset >= len(seen):
            seen.extend(bytes(offset + 1000 - len(seen)))
        seen[offset] = 1

    def check(self, client: RawClient) -> None:
        """Everything below the committed offsets was given to a member, or retention had taken it before."""
        for partition, checked in self._checked.items():
            committed = int(group_client.committed(client, GROUP, *partition).committed_offset)
            if committed < checked:
                self._world.problem(f"{partition}: the group's offset fell from {checked} to {committed}")
                continue
            begin = max(checked, client.log_start(*partition))
            given = self._seen[partition][begin:committed].count(1)
            missing = max(0, committed - begin) - given
            if missing:
                self._world.problem(f"{partition}: the group committed {committed} but skipped {missing} messages")
            self._world.count("group offsets checked", max(0, committed - begin))
            self._checked[partition] = committed

    def lag(self, client: RawClient) -> int:
        return sum(
            client.log_end(*partition) - int(group_client.committed(client, GROUP, *partition).committed_offset)
            for partition in self._checked
        )


class GroupMember(Client):
    """Reads, writes down, commits; leaves and joins again every `stay` seconds if it is a restless one."""

    pause = 0.05

    def __init__(self, world: World, progress: GroupProgress, number: int, stay: float | None = None) -> None:
        super().__init__(world, f"group member {number}")
        self._progress = progress
        self._stay = stay
        self._consumer: Consumer | None = None
        self._joined = 0.0

    def turn(self) -> None:
        if self._consumer is None:
            self._consumer = self._join()
        if self._stay is not None and time.monotonic() > self._joined + self._stay:
            self.finish()
            self.world.count("group members left")
            return
        messages = self._consumer.consume(500, 0.5)
        if self._take(messages):
            self._commit()

    def _join(self) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self.world.broker.bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 10_000,
                "fetch.wait.max.ms": 200,
                "partition.assignment.strategy": "cooperative-sticky",
                **RDKAFKA,
            }
        )
        consumer.subscribe([topic.name for topic in LOGGED])
        self._joined = time.monotonic()
        return consumer

    def _take(self, messages: Sequence[Message]) -> bool:
        taken = False
        for message in messages:
            error, topic, index, offset = message.error(), message.topic(), message.partition(), message.offset()
            if error is not None:
                if error.code() not in EXPECTED:
                    self.world.problem(f"{self.name}: {error}")
                continue
            assert topic is not None
            assert index is not None
            assert offset is not None
            value = message.value()
            assert not isinstance(value, str)
            self.world.ledger.partitions[topic, index].read(offset, value)
            self._progress.note((topic, index), offset)
            taken = True
        return taken

    def _commit(self) -> None:
        assert self._consumer is not None
        try:
            committed = self._consumer.commit(asynchronous=False)
        except KafkaException as error:
            reason = error.args[0]
            if reason.code() not in EXPECTED:
                self.world.problem(f"{self.name}: commit: {reason}")
            self.world.count("commits refused")
            return
        self.world.count("commits")
        for each in committed or ():
            assert isinstance(each, TopicPartition)
            if each.error is not None and each.error.code() not in EXPECTED:
                self.world.problem(f"{self.name}: commit of {each.topic}-{each.partition}: {each.error}")

    def finish(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
