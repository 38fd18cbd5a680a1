"""Topics to archive, and a run of an archive in the test's own process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.bulk.topics import KEEP_ALL
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.transactions import TransactionalProducer
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.bulk.archive import ArchiveSettings
from penstock_spark.bulk.archive_job import ArchiveResult, run_archive
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.told import Told

DAY_MS = 86_400_000
START_MS = 1_763_251_200_000  # 2025-11-16


def make_topic(client: RawClient, topic: str, partitions: int = 1) -> None:
    """For records of any time."""
    client.create_topic(topic, partitions=partitions, configs=KEEP_ALL)


def put(client: RawClient, topic: str, records: Sequence[NewRecord], partition: int = 0, codec: int = 0) -> None:
    client.appended(topic, bytes(build_batch(records, timestamp=START_MS, codec=codec)), partition=partition)


def fill(client: RawClient, topic: str, count: int, *, partitions: int, seed: int = 0, days: int = 1) -> None:
    """Records of every kind, with times that are not in order."""
    chance = random.Random(seed)
    for number in range(count):
        records = [
            NewRecord(
                chance.choice([None, b"", f"key {chance.randrange(50)}".encode()]),
                chance.choice([None, b"", chance.randbytes(chance.randrange(200))]),
                tuple((f"h{index}", chance.choice([None, b"v"])) for index in range(chance.choice([0, 0, 2]))),
                START_MS + chance.randrange(days * DAY_MS),
            )
            for _ in range(chance.randrange(1, 40))
        ]
        put(client, topic, records, number % partitions, codec=number % 5)


def abort_some(cluster: Cluster, topic: str) -> None:
    producer = TransactionalProducer(cluster, unique_name("aborted"))
    producer.init()
    producer.send(TopicPartition(topic, 0), build_batch([NewRecord(b"never", b"never")], timestamp=START_MS))
    producer.abort()


def archive(broker: BrokerProcess, topic: str, directory: Path, **settings: Any) -> ArchiveResult:
    with Cluster([Address(broker.host, broker.port)], timeout_s=30) as cluster:
        given = ArchiveSettings(bootstrap=broker.bootstrap, **settings)
        return run_archive(cluster, topic, directory, given, Told())
