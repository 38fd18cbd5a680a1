"""The result of a writing task. Light to import: committing what tasks have encoded needs no encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.writing.stage_files import filed
from penstock_spark.writing.staging import staged

if TYPE_CHECKING:
    from penstock_spark.writing.options import WriteOptions
    from penstock_spark.writing.record_columns import RecordColumns


@dataclass
class TaskOutput(WriterCommitMessage):
    """The output of one task: batches in their order, or where they are staged. `query` is None in batch writes."""

    query: str | None
    rows: int = 0
    batches: list[tuple[str, int, bytearray]] = field(default_factory=list)
    stage: TopicPartition | None = None
    staged: list[int] = field(default_factory=list)
    """Offsets in `stage`."""
    file: str | None = None
    file_size: int = 0


@dataclass
class Rows(WriterCommitMessage):
    """The output of a task that had few rows: the rows themselves, as an Arrow stream, for the driver to encode."""

    query: str | None
    task: int
    stream: bytes


def encoded_by_driver(
    cluster: Cluster, options: WriteOptions, columns: RecordColumns, rows: Sequence[Rows]
) -> list[TaskOutput]:
    """What tasks that left their rows to the driver would have encoded or written."""
    if not rows:
        return []
    from penstock_spark.writing.tasks import encoded_rows

    return [encoded_rows(cluster, options, columns, each) for each in rows]


def gathered(cluster: Cluster, outputs: Iterable[TaskOutput]) -> Iterator[tuple[TopicPartition, bytearray]]:
    """All batches of all tasks."""
    for output in outputs:
        yield from messaged(cluster, output)
        if output.file is not None:
            yield from filed(output.file, output.file_size)


def messaged(cluster: Cluster, output: TaskOutput) -> Iterator[tuple[TopicPartition, bytearray]]:
    """The batches that are in the message of a task, or in the staging topic."""
    for topic, partition, batch in output.batches:
        yield TopicPartition(topic, partition), batch
    if output.stage is not None:
        yield from staged(cluster, output.stage, output.staged)
