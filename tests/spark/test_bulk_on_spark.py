"""Bulk jobs with Spark's tasks: the same rows as without, and once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.bulk.encoding import Shape
from penstock.bulk.errors import BulkError, Missing
from penstock.bulk.load_job import LoadRequest
from penstock.bulk.opening import Reading
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock_spark.bulk.archive import ArchiveSettings
from penstock_spark.bulk.archive_job import run_archive
from penstock_spark.bulk.load_on_spark import SparkLoad, load_on_spark
from penstock_spark.bulk.on_spark import archive_executor, cut
from penstock_spark.bulk.pieces import Range
from tests.bulk.archiving import fill, make_topic
from tests.support.archive_rows import archive_files, archive_rows, assert_sorted
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.told import Told
from tests.support.topic_contents import topic_contents

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.feature("S-04")
def test_an_archive_by_many_tasks(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path
) -> None:
    topic = unique_name("archived")
    make_topic(client, topic, 3)
    with Cluster([Address(broker.host, broker.port)]) as cluster:
        for seed in range(3):
            fill(client, topic, 30, partitions=3, days=2, seed=seed)
            settings = ArchiveSettings(bootstrap=broker.bootstrap, file_bytes=30_000, step_rows_max=400)
            told = Told()
            result = run_archive(cluster, topic, tmp_path, settings, told, archive_executor(spark))
    assert archive_rows(tmp_path, topic) == topic_contents(broker.bootstrap, topic)
    assert told.rows < result.rows_in_all
    for path in archive_files(tmp_path):
        assert_sorted(path)
    frame = spark.read.parquet(str(tmp_path))
    assert frame.count() == result.rows_in_all
    assert {row.topic for row in frame.select("topic").distinct().collect()} == {topic}


def test_ranges_are_cut_evenly() -> None:
    pieces = cut([Range(0, 10, 110), Range(1, 0, 50), Range(2, 5, 6)], 3)
    assert pieces == [Range(0, 10, 61), Range(0, 61, 110), Range(1, 0, 50), Range(2, 5, 6)]


class Loading:
    def __init__(self, spark: SparkSession, broker: BrokerProcess, directory: Path) -> None:
        self._spark, self._broker, self._directory = spark, broker, directory
        self.topic = unique_name("loaded")

    def __call__(self, path: Path, shape: Shape, reading: Reading | None = None) -> int:
        request = LoadRequest(path=path, topic=self.topic, reading=reading or Reading(), shape=shape)
        given = SparkLoad(load=request, bootstrap=self._broker.bootstrap, checkpoint=self._directory / "checkpoint")
        return load_on_spark(self._spark, given, Told())

    def values(self) -> list[Any]:
        found = topic_contents(self._broker.bootstrap, self.topic)
        rows = [(each.key, json.loads(each.value or b""), each.time_ms) for each in found]
        return sorted(rows, key=repr)


@pytest.fixture
def loading(spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path) -> Loading:
    made = Loading(spark, broker, tmp_path)
    make_topic(client, made.topic, 2)
    return made


@pytest.mark.feature("S-04")
def test_a_directory_of_csv(loading: Loading, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    shape = Shape(key="symbol", timestamp="time", numbers=("price",))
    for number in range(3):
        (files / f"{number}.csv").write_text(f"symbol,price,time\nS{number},{number}.5,176325120000{number}\n")
        assert loading(files, shape) == 1
    assert loading(files, shape) == 0
    assert loading.values() == [
        (
            f"S{number}".encode(),
            {"symbol": f"S{number}", "price": number + 0.5, "time": f"176325120000{number}"},
            1763251200000 + number,
        )
        for number in range(3)
    ]


@pytest.mark.feature("S-04")
def test_json_lines(loading: Loading, tmp_path: Path) -> None:
    (tmp_path / "name=value" / "more").mkdir(parents=True)  # nothing beside the file matters
    (tmp_path / "name=value" / "more" / "rows.jsonl").write_text("1")
    path = tmp_path / "[x] rows.jsonl"
    path.write_text('{"id": "a", "time": "2025-11-16T00:00:00Z"}\n{"id": "b", "time": "2025-11-16T00:00:01Z"}\n')
    assert loading(path, Shape(key="id", timestamp="time")) == 2
    assert [(key, time_ms) for key, _, time_ms in loading.values()] == [(b"a", 1763251200000), (b"b", 1763251201000)]


@pytest.mark.feature("S-04")
def test_parquet(spark: SparkSession, loading: Loading, tmp_path: Path) -> None:
    spark.range(5).write.parquet(str(tmp_path / "numbers"))
    assert loading(tmp_path / "numbers", Shape(), Reading(format="parquet")) == 5
    assert [value for _, value, _ in loading.values()] == [{"id": number} for number in range(5)]


def test_what_spark_finds_wrong(spark: SparkSession, loading: Loading, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\nx\n")
    with pytest.raises(Missing, match="has no column b"):
        loading(path, Shape(key="b"))
    with pytest.raises(BulkError, match="CAST_INVALID_INPUT"):
        loading(path, Shape(numbers=("a",)))
    assert loading.values() == []
