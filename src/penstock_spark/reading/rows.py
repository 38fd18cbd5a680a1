"""The result of a task: the rows of a range of one partition, by the options of its query."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Longs
from penstock_spark.reading.options import ReadOptions
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.reading.records.upsert import Upsert


def read_rows(
    cluster: Cluster, options: ReadOptions, place: TopicPartition, first: int, end: int
) -> Iterator[pa.RecordBatch]:
    def read(columns: tuple[str, ...], only: Longs | None = None) -> RangeReader:
        made = RangeReader(
            cluster,
            place,
            first,
            end,
            columns,
            committed=options.committed,
            tolerant=options.tolerant,
            only=only,
        )
        made.patience.limit_s = options.poll_timeout_s
        return made

    records = Upsert(read, options, place) if options.upsert else read(options.columns)
    table = options.table
    yield from records if table is None else map(table.rows, records)
