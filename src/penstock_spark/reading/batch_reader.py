"""A batch query over topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from penstock.client.offsets import LATEST, list_offsets
from penstock_spark.problems import BadOption
from penstock_spark.reading.options import ReadOptions
from penstock_spark.reading.planning.positions import Edge
from penstock_spark.reading.planning.ranges import OffsetRange, split

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """`partitions` runs once for each DataFrame, on the driver; `read` on executors, once for each range and run."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        is_open = options.ending == Edge(LATEST)
        with options.broker.connect() as cluster:
            places = options.selection.partitions(cluster)
            first = options.starting.resolve(cluster, places, committed=options.committed)
            end = options.ending.resolve(cluster, places, committed=options.committed)
        for place in places:
            if first[place] > end[place] and not is_open:
                raise BadOption(f"{place}: the start {first[place]} is behind the end {end[place]}")
        ranges = [OffsetRange(*place, first[place], end[place], is_open) for place in places]
        pieces = split(ranges, least_count=options.min_partitions, most_records=options.max_records)
        return [each for each in pieces if each.size or each.is_open]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OffsetRange):  # Spark makes up one partition if there is none
            return
        from penstock_spark.reading.rows import read_rows  # compiled loops: not for the driver

        options = self._options
        with options.broker.connect() as cluster:
            end = partition.end
            if partition.is_open:
                ends = list_offsets(cluster, {partition.place: LATEST}, committed=options.committed)
                end = ends[partition.place]
            yield from read_rows(cluster, options, partition.place, partition.first, end)
