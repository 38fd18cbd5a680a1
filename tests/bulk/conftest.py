"""Bulk jobs against a real broker: Penstock, or with PENSTOCK_TEST_TARGET=kafka Apache Kafka.

Most tests run a job in their own process, since starting Python takes longer than the job; what only the command does
is tested with the command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.bulk.encoding import Shape
from penstock.bulk.load_job import LoadRequest, LoadResult, load
from penstock.bulk.opening import Reading
from penstock.bulk.rows import PieceLimits
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock_spark.bulk.parquet_source import ParquetSource
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.fixtures import broker, client, connect, own_broker, penstock_only
from tests.support.raw_client import unique_name
from tests.support.told import Told
from tests.support.topic_contents import Seen, topic_contents

__all__ = ["broker", "client", "connect", "own_broker", "penstock_only"]

Contents = Callable[[str], list[Seen]]
Run = Callable[..., LoadResult]


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[Cluster]:
    with Cluster([Address(broker.host, broker.port)], timeout_s=30) as made:
        yield made


@pytest.fixture
def penstock(broker: BrokerProcess) -> CommandLine:
    return CommandLine(broker.bootstrap)


@pytest.fixture
def topic() -> str:
    """A name; the job makes the topic."""
    return unique_name("bulk")


@pytest.fixture
def contents(broker: BrokerProcess) -> Contents:
    return lambda topic: topic_contents(broker.bootstrap, topic)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def run_load(broker: BrokerProcess, topic: str, told: Told) -> Run:
    """`run_load(path, key=…, table=…, rows=…)`: a load into the topic of the test, in this process."""

    def run(path: Path, *, rows: int = 50_000, **options: Any) -> LoadResult:
        reading = {name: options.pop(name) for name in Reading._fields if name in options}
        shape = {name: options.pop(name) for name in Shape._fields if name in options}
        request = LoadRequest(path=path, topic=topic, reading=Reading(**reading), shape=Shape(**shape))
        request = replace(request, limits=PieceLimits(rows=rows), **options)
        with Cluster([Address(broker.host, broker.port)], timeout_s=30) as cluster:
            return load(cluster, request, ParquetSource, told)

    return run
