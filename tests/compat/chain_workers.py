"""The clients of a member of a chain: a consumer and a transactional producer of one library."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.compat.group_member import HEARTBEAT_MS, LONG_POLL_MS, Report

RECORDS_MAX = 20
TRANSACTION_TIMEOUT_MS = 20_000
PATIENCE_S = 30.0


class Read(NamedTuple):
    partition: int
    offset: int
    key: bytes
    value: bytes


class MustAbort(Exception):
    """The transaction cannot be committed; the producer goes on with the next one."""


class Worker(Protocol):
    """A consumer and a transactional producer of one library. Whatever raises anything but MustAbort is fatal."""

    def poll(self) -> list[Read]:
        """Some records of partitions that belong to this member; the group's metadata are those of this moment."""

    def begin(self) -> None: ...

    def send(self, key: bytes, value: bytes) -> None: ...

    def flush(self) -> None: ...

    def send_offsets(self, offsets: dict[int, int]) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def seek(self, offsets: dict[int, int]) -> None:
        """Read again from there, where a partition is still this member's."""

    def close(self) -> None: ...


class ConfluentWorker:
    def __init__(self, options: dict[str, Any], report: Report) -> None:
        self._source, self._target = options["source"], options["target"]
        common = {"bootstrap.servers": options["bootstrap"], "reconnect.backoff.max.ms": 500}
        self._producer = Producer(
            {
                **common,
                "transactional.id": options["transactional_id"],
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "partitioner": "murmur2_random",  # the others' default, so that a key stays in its partition
                "linger.ms": 0,
                # librdkafka 2.16 otherwise makes its brokers anew when the last one is gone, still has the group's
                # coordinator as one of the old ones, and waits for that in vain (with Apache Kafka as well).
                "metadata.recovery.strategy": "none",
            }
        )
        self._producer.init_transactions(PATIENCE_S)
        self._consumer = Consumer(
            {
                **common,
                "group.id": options["group"],
                "partition.assignment.strategy": "range",
                "session.timeout.ms": options["session_timeout_ms"],
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
            }
        )
        self._report = report
        self._batch: list[Read] = []
        self._metadata: Any = None
        self._consumer.subscribe([self._source], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, _: Any, partitions: list[TopicPartition]) -> None:
        self._report.assignment(each.partition for each in partitions)

    def _revoked(self, _: Any, __: Any) -> None:
        self._batch.clear()  # the next owner reads it
        self._report.assignment(())

    def poll(self) -> list[Read]:
        self._batch = []
        while len(self._batch) < RECORDS_MAX:
            record: Any = self._consumer.poll(0 if self._batch else 0.1)
            if record is None:
                break
            if record.error() is None:
                self._batch.append(Read(record.partition(), record.offset(), record.key(), record.value()))
        self._metadata = self._consumer.consumer_group_metadata()
        return self._batch

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, key: bytes, value: bytes) -> None:
        self._producer.produce(self._target, value, key)

    def flush(self) -> None:
        self._retried(lambda: self._producer.flush(PATIENCE_S))

    def send_offsets(self, offsets: dict[int, int]) -> None:
        positions = [TopicPartition(self._source, partition, offset) for partition, offset in offsets.items()]
        self._retried(lambda: self._producer.send_offsets_to_transaction(positions, self._metadata, PATIENCE_S))

    def commit(self) -> None:
        self._retried(lambda: self._producer.commit_transaction(PATIENCE_S))

    def abort(self) -> None:
        self._retried(lambda: self._producer.abort_transaction(PATIENCE_S))

    @staticmethod
    def _retried(call: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                call()
            except KafkaException as error:
                reason = error.args[0]
                if reason.txn_requires_abort():
                    raise MustAbort(str(reason)) from error
                if not reason.retriable() or time.monotonic() > deadline:
                    raise
            else:
                return

    def seek(self, offsets: dict[int, int]) -> None:
        mine = {each.partition for each in self._consumer.assignment()}
        for partition in mine & offsets.keys():
            self._consumer.seek(TopicPartition(self._source, partition, offsets[partition]))

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonWorker:
    def __init__(self, options: dict[str, Any], report: Report) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self._source, self._target = options["source"], options["target"]
        common = {"bootstrap_servers": options["bootstrap"], "reconnect_backoff_max_ms": 500}
        self._producer = KafkaProducer(
            **common,
            transactional_id=options["transactional_id"],
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        )
        self._producer.init_transactions()
        self._consumer = KafkaConsumer(
            **common,
            group_id=options["group"],
            partition_assignment_strategy=[RangePartitionAssignor],
            session_timeout_ms=options["session_timeout_ms"],
            heartbeat_interval_ms=HEARTBEAT_MS,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            max_poll_records=RECORDS_MAX,
        )
        self._metadata: Any = None

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
            def on_partitions_assigned(self, assigned: Any) -> None:
                report.assignment(each.partition for each in assigned)

            def on_partitions_revoked(self, _: Any) -> None:
                report.assignment(())

            on_partitions_lost = on_partitions_revoked

        self._consumer.partitions_for_topic(self._source)  # before it joins, and long polls: see group_member.py
        self._consumer.subscribe([self._source], listener=Listener())

    def poll(self) -> list[Read]:
        found = self._consumer.poll(timeout_ms=LONG_POLL_MS)
        self._metadata = self._consumer.group_metadata()
        return [
            Read(record.partition, record.offset, record.key, record.value)
            for records in found.values()
            for record in records
        ]

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, key: bytes, value: bytes) -> None:
        self._call(lambda: self._producer.send(self._target, value, key))

    def flush(self) -> None:
        self._call(self._producer.flush)

    def send_offsets(self, offsets: dict[int, int]) -> None:
        from kafka import OffsetAndMetadata
        from kafka import TopicPartition as Partition

        positions = {Partition(self._source, index): OffsetAndMetadata(at, "", -1) for index, at in offsets.items()}
        if self._metadata.generation_id < 0:
            raise MustAbort("no member of the group any more")  # the broker would take it for somebody outside groups
        self._call(lambda: self._producer.send_offsets_to_transaction(positions, self._metadata))

    def commit(self) -> None:
        self._call(self._producer.commit_transaction)

    def abort(self) -> None:
        self._producer.abort_transaction()

    @staticmethod
    def _call(call: Callable[[], object]) -> None:
        """Whether an error is fatal shows when the transaction is aborted: then that fails as well."""
        from kafka.errors import KafkaError, KafkaTimeoutError

        try:
            call()
        except KafkaTimeoutError:
            raise  # nobody knows
        except KafkaError as error:
            raise MustAbort(repr(error)) from error

    def seek(self, offsets: dict[int, int]) -> None:
        for partition in self._consumer.assignment():
            if partition.partition in offsets:
                self._consumer.seek(partition, offsets[partition.partition])

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()
