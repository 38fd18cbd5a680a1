"""Real Spark over a real broker: Penstock, or with PENSTOCK_TEST_TARGET=kafka Apache Kafka."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock_spark.jar_file import JAR
from tests.client.conftest import cluster
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import broker, client, connect, own_broker, penstock_only, topic
from tests.support.pipelines import connect_server, make_project

CONNECTOR = Path(__file__).parents[1] / "compat" / ".cache" / "spark"
"""The jars of Spark's own Kafka connector, as `make compat-setup` fetches them."""
JARS = ",".join(map(str, [*sorted(CONNECTOR.glob("*.jar")), JAR]))

__all__ = [
    "broker", "client", "cluster", "connect", "connect_server", "make_project", "own_broker", "penstock_only", "read",
    "spark", "topic",
]  # fmt: skip


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session: SparkSession = (
        builder.config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.jars", JARS)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def read(spark: SparkSession, broker: BrokerProcess) -> Callable[..., DataFrame]:
    """A DataFrame over the broker, by options."""

    def load(**options: Any) -> DataFrame:
        given = {"kafka.bootstrap.servers": f"{broker.host}:{broker.port}", **options}
        return spark.read.format("penstock").options(**given).load()

    return load
