"""The process that `bench.spark.cold` starts: one query, a line when its first result is there, and the end."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import penstock_spark
from bench.spark.works import CONNECTOR, THEIRS


def main(work: str, source: str, address: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
    jars = ",".join(map(str, sorted(CONNECTOR.glob("*.jar")))) if source == THEIRS else penstock_spark.jar()
    builder = builder.config("spark.jars", jars)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    {"stream": _stream, "batch": _batch}[work](spark, source, address)
    spark.stop()


def _batch(spark: SparkSession, source: str, address: str) -> None:
    frame = spark.read.format(source).option("kafka.bootstrap.servers", address).option("subscribe", "cold").load()
    assert frame.first() is not None
    _say()


def _stream(spark: SparkSession, source: str, address: str) -> None:
    server = {"kafka.bootstrap.servers": address}
    rows = spark.readStream.format(source).options(**server).option("subscribe", "cold")
    frame = rows.option("startingOffsets", "earliest").load().select("key", "value")
    with tempfile.TemporaryDirectory(prefix="cold-checkpoint-") as checkpoint:
        writer = frame.writeStream.format(source).options(**server).option("topic", "warm")
        query = writer.option("checkpointLocation", checkpoint).start()
        while not (Path(checkpoint) / "commits" / "0").exists():
            if not query.isActive:
                raise RuntimeError(str(query.exception()))
            time.sleep(0.01)
        _say()
        query.stop()


def _say() -> None:
    sys.stdout.write("there\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
