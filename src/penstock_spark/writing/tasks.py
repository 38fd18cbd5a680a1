"""The common part of batch and streaming write tasks: rows become record batches, which are staged or returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.client.cluster import Cluster
from penstock.client.topics import topics_to_write
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption
from penstock_spark.worker_process import settle
from penstock_spark.writing.encoding.avro_values import avro_values
from penstock_spark.writing.encoding.encoder import Encoded, Encoder, chunks
from penstock_spark.writing.encoding.json_values import json_values
from penstock_spark.writing.encoding.outgoing import Outgoing, outgoing
from penstock_spark.writing.idle_writers import producer
from penstock_spark.writing.large_output import LargeOutput
from penstock_spark.writing.options import Delivery, WriteOptions
from penstock_spark.writing.record_columns import RecordColumns
from penstock_spark.writing.task_output import Rows, TaskOutput

INLINE_TASKS = 4
"""The number of tasks that may send the full amount."""


def task_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def query_id() -> str:
    """The id of the streaming query of this task. Two queries with one name would take each other's work for done."""
    return _said_by_spark("sql.streaming.queryId")


def batch_number() -> int:
    """The number of the batch of this task."""
    return int(_said_by_spark("streaming.sql.batchId"))


def _said_by_spark(name: str) -> str:
    context = TaskContext.get()
    found: str | None = context.getLocalProperty(name) if context is not None else None
    if not found:
        text = f"Spark does not say {name} to its tasks, by which a batch that was written is known"
        raise BadOption(f"{text}: only delivery=at-least-once can do without")
    return found


def inline_share(inline_bytes: int, task: int) -> int:
    """The most bytes that a task may send to the driver. A task knows its own number, but not how many tasks there are.

    The first four may send the full amount, later ones less and less: of 8 MiB that makes 32 MiB for four tasks and 150
    MiB for two hundred, not 1,600 MiB, with which Spark would refuse the batch.
    """
    return min(inline_bytes, INLINE_TASKS * inline_bytes // (task + 1))


def encoded(
    cluster: Cluster, options: WriteOptions, columns: RecordColumns, rows: Iterable[pa.RecordBatch], task: int
) -> Iterator[Encoded]:
    settle()
    known: dict[str, int] = {}

    def counts(names: Iterable[str]) -> dict[str, int]:
        missing = [name for name in names if name not in known]
        if missing:
            found = topics_to_write(cluster, missing)
            known.update({name: info.partition_count for name, info in found.items()})
        return known

    encoder = Encoder(counts, options.codec, task, options.limits, ignores_keys=options.ignores_keys)
    for chunk in chunks(rows, options.limits.linger_s):
        yield from encoder.encode(outgoing_rows(columns, chunk))


def outgoing_rows(columns: RecordColumns, batch: pa.RecordBatch) -> Outgoing:
    parts = {part: batch.column(batch.schema.get_field_index(name)) for part, name in columns.parts.items()}
    if columns.avro is not None:
        parts["value"] = avro_values(batch, columns.avro)
    elif columns.value_columns:
        parts["value"] = json_values(batch.select(list(columns.value_columns)))
    if not columns.key_is_text:
        parts["key"] = pc.cast(parts["key"], pa.string())
    return outgoing(parts, batch.num_rows, columns.topic)


def produce(cluster: Cluster, batches: Iterable[Encoded]) -> int:
    """Produce rows immediately, at least once. Returns their number."""
    rows = 0
    with producer(cluster) as sending:
        for each in batches:
            sending.send(each.place, each.batch)
            rows += each.rows
    return rows


def encoded_rows(cluster: Cluster, options: WriteOptions, columns: RecordColumns, rows: Rows) -> TaskOutput:
    """What the task would have encoded or written."""
    with pa.ipc.open_stream(rows.stream) as batches:
        found = encoded(cluster, options, columns, batches, rows.task)
        if options.delivery is Delivery.AT_LEAST_ONCE:
            return TaskOutput(rows.query, produce(cluster, found))
        output = TaskOutput(rows.query)
        for each in found:
            output.rows += each.rows
            output.batches.append((*each.place, each.batch))
        return output


def gather(cluster: Cluster, batches: Iterable[Encoded], output: TaskOutput, options: WriteOptions) -> TaskOutput:
    """Gather batches in the commit message while it is small, or stage all of them once it is not."""
    stage: LargeOutput | None = None
    size, most = 0, inline_share(options.inline_bytes, task_number())
    for each in batches:
        output.rows += each.rows
        if stage is not None:
            stage.put(each.place, each.batch)
            continue
        output.batches.append((*each.place, each.batch))
        size += len(each.batch)
        if size > most:
            stage = LargeOutput(cluster, task_number(), options.directory)
            for topic, partition, batch in output.batches:
                stage.put(TopicPartition(topic, partition), batch)
            output.batches = []
    if stage is not None:
        stage.finish(output)
    return output
