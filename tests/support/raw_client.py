"""Common steps of many tests on top of one raw connection: create a topic, produce, fetch, look up.

Each step sends one request at a version the caller may choose and returns the innermost answer, error code
and all.
"""

import itertools
import os
import uuid
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from tests.support.batches import StoredBatch, StoredRecord, decode_batches, decode_records
from tests.support.waiting import wait_until
from tests.support.wire import Connection

EARLIEST, LATEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -2, -1, -3, -4

_numbers = itertools.count(1)


def unique_name(prefix: str = "topic") -> str:
    """A name that no other test and no earlier run against the same broker has used."""
    return f"{prefix}-{os.getpid()}-{next(_numbers)}-{uuid.uuid4().hex[:6]}"


class RawClient(Connection):
    """One connection with the common steps."""

    def create_topic(
        self, name: str | None = None, *, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic and wait until the broker leads all of its partitions."""
        name = name or unique_name()
        answer = self.create_topics_answer(name, num_partitions=partitions, configs=configs)
        assert answer.error_code == ErrorCode.none, answer
        self.wait_for_topic(name, partitions)
        return name

    def create_topics_answer(
        self,
        name: str,
        *,
        version: int = 7,
        num_partitions: int = 1,
        replication_factor: int = 1,
        assignments: Mapping[int, list[int]] | None = None,
        configs: Mapping[str, str | None] | Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> Any:
        topic = {
            "name": name,
            "num_partitions": num_partitions,
            "replication_factor": replication_factor,
            "assignments": [
                {"partition_index": index, "broker_ids": brokers} for index, brokers in (assignments or {}).items()
            ],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        answer = self.call("create_topics", version, topics=[topic], timeout=10_000, validate_only=validate_only)
        (result,) = answer.topics
        return result

    def wait_for_topic(self, name: str, partitions: int) -> None:
        wanted = [
            {"partition_index": index, "current_leader_epoch": -1, "timestamp": LATEST} for index in range(partitions)
        ]

        def led() -> bool:
            answer = self.call("list_offsets", 7, replica_id=-1, topics=[{"name": name, "partitions": wanted}])
            return all(each.error_code == ErrorCode.none for each in answer.topics[0].partitions)

        wait_until(led, what=f"all {partitions} partitions of {name} answer")

    def metadata(self, *names: str, version: int = 12, create: bool = False, **values: Any) -> Any:
        topics = [{"name": name, "topic_id": None} for name in names]
        return self.call("metadata", version, topics=topics, allow_auto_topic_creation=create, **values)

    def topic_id(self, name: str) -> uuid.UUID:
        (topic,) = self.metadata(name).topics
        assert topic.error_code == ErrorCode.none, topic
        assert isinstance(topic.topic_id, uuid.UUID)
        return topic.topic_id

    def delete_topic(self, name: str) -> None:
        answer = self.call("delete_topics", 6, topics=[{"name": name, "topic_id": None}], timeout=10_000)
        assert answer.responses[0].error_code == ErrorCode.none, answer

        def gone() -> bool:
            (topic,) = self.metadata(name).topics
            return bool(topic.error_code == ErrorCode.unknown_topic_or_partition)

        wait_until(gone, what=f"topic {name} is gone")

    def produce(
        self, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, version: int = 9
    ) -> Any:
        """Produce one partition's bytes by topic name (up to v12); the partition's answer."""
        answer = self.call("produce", version, **self.produce_values(topic, records, partition=partition, acks=acks))
        return answer.responses[0].partition_responses[0]

    def produce_values(
        self, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1
    ) -> dict[str, Any]:
        data = {"name": topic, "partition_data": [{"index": partition, "records": records}]}
        return {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": [data]}

    def appended(self, topic: str, records: bytes, *, partition: int = 0, version: int = 9) -> int:
        """Produce records that must be accepted. Returns the base offset."""
        answer = self.produce(topic, records, partition=partition, version=version)
        assert answer.error_code == ErrorCode.none, answer
        return int(answer.base_offset)

    def fetch_values(
        self,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_wait: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 26,
        partition_max_bytes: int = 1 << 24,
        isolation_level: int = 0,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        session_id: int = 0,
        session_epoch: int = -1,
    ) -> dict[str, Any]:
        wanted = {
            "partition": partition,
            "current_leader_epoch": current_leader_epoch,
            "fetch_offset": offset,
            "last_fetched_epoch": last_fetched_epoch,
            "log_start_offset": -1,
            "partition_max_bytes": partition_max_bytes,
        }
        return {
            "replica_id": -1,
            "max_wait": max_wait,
            "min_bytes": min_bytes,
            "max_bytes": max_bytes,
            "isolation_level": isolation_level,
            "session_id": session_id,
            "session_epoch": session_epoch,
            "topics": [{"topic": topic, "partitions": [wanted]}],
        }

    def fetch(self, topic: str, offset: int, *, version: int = 12, **options: Any) -> Any:
        """Fetch one partition by topic name (up to v12); the partition's answer."""
        answer = self.call("fetch", version, **self.fetch_values(topic, offset, **options))
        assert answer.responses, answer
        return answer.responses[0].partitions[0]

    def fetch_batches(self, topic: str, offset: int = 0, **options: Any) -> list[StoredBatch]:
        answer = self.fetch(topic, offset, **options)
        assert answer.error_code == ErrorCode.none, answer
        return decode_batches(answer.records)

    def fetch_records(self, topic: str, offset: int = 0, **options: Any) -> list[StoredRecord]:
        answer = self.fetch(topic, offset, **options)
        assert answer.error_code == ErrorCode.none, answer
        return decode_records(answer.records)

    def list_offset(
        self,
        topic: str,
        timestamp: int,
        *,
        partition: int = 0,
        version: int = 7,
        current_leader_epoch: int = -1,
    ) -> Any:
        wanted = {
            "partition_index": partition,
            "current_leader_epoch": current_leader_epoch,
            "timestamp": timestamp,
        }
        topics = [{"name": topic, "partitions": [wanted]}]
        answer = self.call("list_offsets", version, replica_id=-1, isolation_level=0, topics=topics)
        return answer.topics[0].partitions[0]

    def log_end(self, topic: str, partition: int = 0) -> int:
        answer = self.list_offset(topic, LATEST, partition=partition)
        assert answer.error_code == ErrorCode.none, answer
        return int(answer.offset)

    def log_start(self, topic: str, partition: int = 0) -> int:
        answer = self.list_offset(topic, EARLIEST, partition=partition)
        assert answer.error_code == ErrorCode.none, answer
        return int(answer.offset)

    def delete_records(self, topic: str, before: int, *, partition: int = 0) -> Any:
        topics = [{"name": topic, "partitions": [{"partition_index": partition, "offset": before}]}]
        answer = self.call("delete_records", 2, topics=topics, timeout=10_000)
        return answer.topics[0].partitions[0]

    def new_producer_id(self, version: int = 4) -> tuple[int, int]:
        """A producer id and its epoch, as soon as the broker has a block of them."""

        def given() -> Any:
            answer = self.call("init_producer_id", version, transactional_id=None, transaction_timeout=60_000)
            if answer.error_code == ErrorCode.coordinator_load_in_progress:
                return None
            assert answer.error_code == ErrorCode.none, answer
            return answer

        answer = wait_until(given, what="the broker gives out a producer id")
        return int(answer.producer_id), int(answer.producer_epoch)
