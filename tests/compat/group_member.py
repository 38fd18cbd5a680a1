"""One member of a consumer group as a program of its own, so that it can be killed.

`python group_member.py CLIENT JSON` with the keys bootstrap, group, topic, assignor, session_timeout_ms and, for a
static member, instance. It prints a JSON line whenever its assignment changes and for each message, commits as
it goes, and leaves the group when it is asked to end (SIGTERM).
"""

import asyncio
import json
import signal
import sys
from collections.abc import Iterable
from typing import Any, ClassVar

HEARTBEAT_MS = 500
COMMIT_MS = 200
LONG_POLL_MS = 5_000


class Report:
    """Prints what happens; assignments only when they change."""

    def __init__(self) -> None:
        self._assignment: list[int] | None = None

    def assignment(self, partitions: Iterable[int]) -> None:
        current = sorted(partitions)
        if current != self._assignment:
            self._assignment = current
            self.say(event="assigned", partitions=current)

    def message(self, partition: int, offset: int, value: bytes) -> None:
        self.say(event="message", partition=partition, offset=offset, value=value.decode())

    @staticmethod
    def say(**event: object) -> None:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


class Ending:
    """Becomes true when the program was asked to end."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def run_confluent(options: dict[str, Any]) -> None:
    from confluent_kafka import Consumer

    settings = {
        "bootstrap.servers": options["bootstrap"],
        "group.id": options["group"],
        "partition.assignment.strategy": options["assignor"],
        "session.timeout.ms": options["session_timeout_ms"],
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "auto.commit.interval.ms": COMMIT_MS,
        "auto.offset.reset": "earliest",
    }
    if "instance" in options:
        settings["group.instance.id"] = options["instance"]
    consumer, report, ending = Consumer(settings), Report(), Ending()
    consumer.subscribe([options["topic"]])
    while not ending.asked:
        record: Any = consumer.poll(0.1)
        report.assignment(each.partition for each in consumer.assignment())
        if record is not None and record.error() is None:
            report.message(record.partition(), record.offset(), record.value())
    consumer.close()


def run_kafka_python(options: dict[str, Any]) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }
    consumer = KafkaConsumer(
        bootstrap_servers=options["bootstrap"],
        group_id=options["group"],
        group_instance_id=options.get("instance"),
        partition_assignment_strategy=[assignors[options["assignor"]]],
        session_timeout_ms=options["session_timeout_ms"],
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_commit_interval_ms=COMMIT_MS,
        auto_offset_reset="earliest",
    )
    report, ending = Report(), Ending()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
        """Tells the assignment at once, since polls are long."""

        owned: ClassVar[set[int]] = set()

        def on_partitions_assigned(self, assigned: Any) -> None:
            self.owned.update(each.partition for each in assigned)
            report.assignment(self.owned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            self.owned.difference_update(each.partition for each in revoked)
            report.assignment(self.owned)

        on_partitions_lost = on_partitions_revoked

    # kafka-python 3.0.12 never heartbeats again when a poll times out, or metadata arrive, between its JoinGroup and
    # SyncGroup (on Apache Kafka as well): so it learns of the topic before it joins, and polls for long.
    consumer.partitions_for_topic(options["topic"])
    consumer.subscribe([options["topic"]], listener=Listener())
    while not ending.asked:
        found = consumer.poll(timeout_ms=LONG_POLL_MS)
        for records in found.values():
            for record in records:
                report.message(record.partition, record.offset, record.value)
    consumer.close()


async def _run_aiokafka(options: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    assignors = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
    }
    consumer = AIOKafkaConsumer(
        options["topic"],
        bootstrap_servers=options["bootstrap"],
        group_id=options["group"],
        group_instance_id=options.get("instance"),
        partition_assignment_strategy=[assignors[options["assignor"]]],
        session_timeout_ms=options["session_timeout_ms"],
        heartbeat_interval_ms=HEARTBEAT_MS,
        auto_commit_interval_ms=COMMIT_MS,
        auto_offset_reset="earliest",
    )
    report, ending = Report(), Ending()
    await consumer.start()
    while not ending.asked:
        found = await consumer.getmany(timeout_ms=100)
        report.assignment(each.partition for each in consumer.assignment())
        for records in found.values():
            for record in records:
                report.message(record.partition, record.offset, record.value)
    await consumer.stop()


def run_aiokafka(options: dict[str, Any]) -> None:
    asyncio.run(_run_aiokafka(options))


PROGRAMS = {"confluent-kafka": run_confluent, "kafka-python": run_kafka_python, "aiokafka": run_aiokafka}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](json.loads(sys.argv[2]))
