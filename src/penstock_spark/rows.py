"""What a task gives to Spark: the rows of a range of one partition, by the options of its query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.options import ReadOptions
from penstock_spark.reading import RangeReader
from penstock_spark.upsert import Upsert


def read_rows(
    cluster: Cluster, options: ReadOptions, place: TopicPartition, first: int, end: int
) -> Iterator[pa.RecordBatch]:
    records: Iterable[pa.RecordBatch]
    if options.upsert:
        records = Upsert(cluster, options, place, first, end)
    else:
        records = RangeReader(
            cluster,
            place,
            first,
            end,
            options.columns,
            committed=options.committed,
            tolerant=options.tolerant,
        )
    table = options.table
    yield from records if table is None else map(table.rows, records)
