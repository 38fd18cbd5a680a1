"""Bulk jobs that need Arrow or Spark: the only place where the command imports `penstock_spark`.

The package is an extra. It is imported when a job needs it; if it is missing, the error says how to install it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.kafka.command_config import named_file
from penstock.cli.pipeline.spark_environment import check_java, worker_python
from penstock.cli.terminal.errors import CommandError

if TYPE_CHECKING:
    from penstock.bulk.load_job import LoadRequest
    from penstock.bulk.progress import Progress
    from penstock.bulk.rows import PieceLimits, Source
    from penstock.client.cluster import Cluster
    from penstock_spark.bulk.archive_job import ArchiveResult

EXTRA_HINT = "install it with: pip install 'penstock[spark]'"


@contextmanager
def _needed(what: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise CommandError(f"{what} needs the package {error.name}, which is not installed", hint=EXTRA_HINT) from error


def _check_spark() -> None:
    """Check what Spark would report late and in its own words."""
    check_java()
    os.environ["PYSPARK_PYTHON"] = worker_python()


def open_parquet(path: Path) -> Source:
    with _needed("reading Parquet"):
        from penstock_spark.bulk.parquet_source import ParquetSource
    return ParquetSource(path)


def load_on_spark(
    cluster: Cluster, request: LoadRequest, progress: Progress, master: str, bootstrap: str, checkpoint: Path
) -> int:
    with _needed("--spark"):
        from penstock_spark.bulk.load_on_spark import SparkLoad, load_on_spark
        from penstock_spark.bulk.on_spark import session
    from penstock.bulk.load_job import target_topic

    _check_spark()
    target_topic(cluster, request, progress)
    with session(master, f"load {request.path}") as spark:
        wanted = SparkLoad(load=request, bootstrap=bootstrap, checkpoint=checkpoint, command_config=named_file())
        return load_on_spark(spark, wanted, progress)


def archive(
    cluster: Cluster, topic: str, directory: Path, progress: Progress, spark_master: str | None, **settings: Any
) -> ArchiveResult:
    """`settings` are those of `ArchiveSettings`."""
    with _needed("an archive"):
        from penstock_spark.bulk.archive import ArchiveSettings
        from penstock_spark.bulk.archive_job import run_archive
    if spark_master is None:
        return run_archive(cluster, topic, directory, ArchiveSettings(**settings), progress)
    with _needed("--spark"):
        from penstock_spark.bulk.on_spark import archive_executor, session
    _check_spark()
    with session(spark_master, f"archive {topic}") as spark:
        return run_archive(cluster, topic, directory, ArchiveSettings(**settings), progress, archive_executor(spark))


def replay(cluster: Cluster, progress: Progress, limits: PieceLimits, **request: Any) -> int:
    """`request` has the fields of `ReplayRequest`."""
    with _needed("a replay"):
        from penstock_spark.bulk.replay_job import ReplayRequest, run_replay
    return run_replay(cluster, ReplayRequest(limits=limits, **request), progress)
