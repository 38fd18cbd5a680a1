"""The same jobs with Spark's tasks: for topics and files that are too many for one process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pyspark.sql import SparkSession

from penstock_spark.bulk.archive import Execute
from penstock_spark.bulk.manifest import ArchiveFile
from penstock_spark.bulk.pieces import PieceTask, Range, write_pieces
from penstock_spark.jar_file import JAR

TASKS_PER_CORE = 2


@contextmanager
def session(master: str, name: str) -> Iterator[SparkSession]:
    """One that runs already, or one that ends with the job."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers would be whatever `python3` is
    builder = SparkSession.builder.master(master).appName(f"penstock {name}").config("spark.ui.enabled", "false")
    if JAR.exists():
        builder = builder.config("spark.jars", str(JAR))
    made: SparkSession = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    try:
        yield made
    finally:
        made.stop()


def archive_executor(spark: SparkSession) -> Execute:
    """Ranges in about as many pieces as there are cores. A repeated task leaves a file that no manifest names."""
    context = spark.sparkContext

    def execute(task: PieceTask, ranges: Sequence[Range]) -> list[ArchiveFile]:
        pieces = cut(ranges, context.defaultParallelism * TASKS_PER_CORE)
        written: list[list[ArchiveFile]] = context.parallelize(pieces, len(pieces)).map(partial(_write, task)).collect()
        return [each for files in written for each in files]

    return execute


def _write(task: PieceTask, piece: Range) -> list[ArchiveFile]:
    return write_pieces(task, [piece])


def cut(ranges: Sequence[Range], count: int) -> list[Range]:
    """Into about `count` pieces of about the same size, in their order."""
    total = sum(each.end - each.first for each in ranges)
    size = max(1, -(-total // max(1, count)))
    return [
        Range(partition, first, min(end, first + size))
        for partition, begin, end in ranges
        for first in range(begin, end, size)
    ]
