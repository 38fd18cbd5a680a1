"""`python -m tests.spark.copy_driver`: a Spark driver of its own that copies a topic to another, to be killed.

It ends by itself, with 0, when everything that was there at its start is copied.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import penstock_spark

SLOW_S = 30.0


def slowly(directory: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first attempt of the first task takes its time, after its rows have gone on."""
    context = TaskContext.get()
    assert context is not None
    (Path(directory) / f"{context.partitionId()}-{context.attemptNumber()}").touch()
    yield from batches
    if context.partitionId() == 0 and context.attemptNumber() == 0:
        time.sleep(SLOW_S)


def main() -> None:
    given = json.loads(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(given["master"]).config("spark.ui.enabled", "false")
    own = {"spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2", "spark.jars": penstock_spark.jar()}
    for key, value in {**own, **given["conf"]}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    broker = {"kafka.bootstrap.servers": given["bootstrap"], **given["timeouts"]}
    frame = (
        spark.readStream.format("penstock")
        .options(**broker)
        .options(subscribe=given["source"], startingOffsets="earliest", maxOffsetsPerTrigger=given["batch"])
        .load()
        .select("key", "value")
    )
    if given["slow"]:
        frame = frame.mapInArrow(partial(slowly, given["slow"]), frame.schema)
    writer = frame.writeStream.format("penstock").options(**broker).options(topic=given["target"], **given["options"])
    query = writer.option("checkpointLocation", given["checkpoint"]).trigger(availableNow=True).start()
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
