"""What writers of batches and of streams have in common: tasks that encode, and the message that they send home."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from penstock.client.cluster import Cluster
from penstock.client.idempotent import IdempotentProducer
from penstock.client.topics import topics_to_write
from penstock.model.topic_partition import TopicPartition
from penstock_spark.encoder import Encoded, Encoder, chunks
from penstock_spark.record_columns import RecordColumns
from penstock_spark.staging import Stage, staged
from penstock_spark.write_options import WriteOptions


@dataclass
class TaskOutput(WriterCommitMessage):
    """Of one task: batches for the wire in their order, or where they are staged. `query` is None in batch writes."""

    query: str | None
    rows: int = 0
    batches: list[tuple[str, int, bytearray]] = field(default_factory=list)
    stage: TopicPartition | None = None
    staged: list[int] = field(default_factory=list)


def task_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def query_id() -> str | None:
    """Of the streaming query whose task this is."""
    context = TaskContext.get()
    return context.getLocalProperty("sql.streaming.queryId") if context is not None else None


def encoded(
    cluster: Cluster, options: WriteOptions, columns: RecordColumns, rows: Iterable[pa.RecordBatch]
) -> Iterator[Encoded]:
    known: dict[str, int] = {}

    def counts(names: Iterable[str]) -> dict[str, int]:
        missing = [name for name in names if name not in known]
        if missing:
            found = topics_to_write(cluster, missing)
            known.update({name: info.partition_count for name, info in found.items()})
        return known

    encoder = Encoder(counts, options.codec, task_number())
    for chunk in chunks(rows):
        yield from encoder.encode(columns.rows(chunk))


def produce(cluster: Cluster, batches: Iterable[Encoded]) -> int:
    """At once, at least once: how many rows."""
    producer, rows = IdempotentProducer(cluster), 0
    for each in batches:
        producer.send(each.place, each.batch)
        rows += each.rows
    producer.flush()
    return rows


def gather(cluster: Cluster, batches: Iterable[Encoded], output: TaskOutput, inline_bytes: int) -> TaskOutput:
    """Into the message while it is small; all of it to the staging topic once it is not."""
    stage: Stage | None = None
    size = 0
    for each in batches:
        output.rows += each.rows
        if stage is not None:
            stage.put(each.place, each.batch)
            continue
        output.batches.append((*each.place, each.batch))
        size += len(each.batch)
        if size > inline_bytes:
            stage = Stage(cluster, task_number())
            for topic, partition, batch in output.batches:
                stage.put(TopicPartition(topic, partition), batch)
            output.batches = []
    if stage is not None:
        stage.flush()
        output.stage, output.staged = stage.place, stage.offsets
    return output


def gathered(cluster: Cluster, outputs: Iterable[TaskOutput]) -> Iterator[tuple[TopicPartition, bytearray]]:
    """All batches of all tasks."""
    for output in outputs:
        for topic, partition, batch in output.batches:
            yield TopicPartition(topic, partition), batch
        if output.stage is not None:
            yield from staged(cluster, output.stage, output.staged)
