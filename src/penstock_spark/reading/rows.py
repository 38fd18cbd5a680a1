"""The result of a task: the rows of a range of one partition, by the options of its query."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Longs
from penstock_spark.reading.options import ReadOptions
from penstock_spark.reading.planning.spans import EVERYTHING, Span
from penstock_spark.reading.records.batches import Choice
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.reading.records.upsert import Upsert
from penstock_spark.worker_process import settle


def read_rows(
    cluster: Cluster, options: ReadOptions, place: TopicPartition, first: int, end: int, within: Span = EVERYTHING
) -> Iterator[pa.RecordBatch]:
    """`within` has times; batches without any of them are left out."""
    settle()

    def read(columns: tuple[str, ...], only: Longs | None = None) -> RangeReader:
        reader = RangeReader(
            cluster,
            place,
            first,
            end,
            columns,
            committed=options.committed,
            tolerant=options.tolerant,
            choice=Choice(only, within),
        )
        reader.limits = options.limits
        reader.transaction_wait.limit_s = options.poll_timeout_s
        return reader

    records = Upsert(read, options, place) if options.upsert else read(options.columns)
    table = options.table
    pushed = options.pushed
    if table is not None:
        yield from map(table.rows, records)
    elif pushed is not None and pushed.columns != options.columns:
        yield from (batch.select(list(pushed.columns)) for batch in records)
    else:
        yield from records
