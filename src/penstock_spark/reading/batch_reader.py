"""A batch query over topics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from penstock.client.cluster import Cluster
from penstock.client.offsets import EARLIEST, LATEST, list_offsets
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption, DataLost
from penstock_spark.reading.known_times import shortened
from penstock_spark.reading.options import ReadOptions, hasty
from penstock_spark.reading.planning.narrowing import narrowed
from penstock_spark.reading.planning.positions import Edge, Offsets
from penstock_spark.reading.planning.ranges import OffsetRange, split

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """A batch query. `partitions` runs on the driver, `read` on executors per range and run.

    Without the part in the JVM, Spark plans a DataFrame once, however many queries there are of it: so ranges are open,
    and each run reads to the end at that time. With it, each query is planned by itself, as one of Spark's own source.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        with options.planner.session() as cluster:
            selected = options.selection.find_all(cluster)
            places = selected.places
            first = options.starting.resolve(cluster, places, committed=options.committed)
            end = options.ending.resolve(cluster, places, committed=options.committed)
            self._check(cluster, first, end)
            end = {place: max(offset, first[place]) for place, offset in end.items()}
            is_open, is_all = self._is_open, options.starting == Edge(EARLIEST)
            ranges = [OffsetRange(*place, first[place], end[place], is_open, is_all) for place in places]
            wanted = shortened(cluster, self._narrowed(cluster, ranges), selected.ids, committed=options.committed)
        pieces = split(wanted, least_count=options.min_partitions, most_records=options.max_records)
        found = [each for each in pieces if each.size or each.is_open]
        if places and not found and self._grows:  # something must say which partitions are known
            found = [OffsetRange(*places[0], 0, 0)]
        if found and self._grows:
            found[-1].known = frozenset(places)
        return found

    def _narrowed(self, cluster: Cluster, ranges: Sequence[OffsetRange]) -> Sequence[OffsetRange]:
        """What the filters of the query leave of ranges.

        Which record is the latest of a key depends on all others, and the offset of a row in `_corrupt` on where
        reading began: such queries only leave out whole partitions.
        """
        options = self._options
        if options.pushed is None:
            return ranges
        whole = options.upsert or "_corrupt" in options.columns
        spans = {each.place: options.pushed.spans(each.place, only_places=whole) for each in ranges}
        return narrowed(cluster, ranges, spans)

    @property
    def _is_open(self) -> bool:
        """Whether each run reads to the end at that time."""
        return self._options.pushed is None and self._ends_at_latest

    @property
    def _ends_at_latest(self) -> bool:
        return self._options.ending == Edge(LATEST)

    @property
    def _grows(self) -> bool:
        """Whether each run also reads partitions that were added after planning."""
        return self._is_open and self._options.selection.may_grow and not self._options.starting.names_partitions

    def _check(self, cluster: Cluster, first: Offsets, end: Offsets) -> None:
        """Check that no start is behind its end; the latest one moves on, at least to uncommitted records."""
        late = [place for place in first if first[place] > end[place]]
        if late and self._ends_at_latest:
            end = list_offsets(cluster, dict.fromkeys(late, LATEST), committed=False)
        for place in late:
            if first[place] > end[place]:
                raise BadOption(f"{place}: the start {first[place]} is behind the end {end[place]}")

    def hasty(self) -> BatchReader:
        """The same for reading while a query is planned: it waits neither for transactions nor long for a broker."""
        return BatchReader(hasty(self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with self._options.broker.session() as cluster:
            if isinstance(partition, OffsetRange):
                yield from self._read_range(cluster, partition)
                known = partition.known
            else:  # Spark passes an invented partition if there is none
                known = frozenset() if self._grows else None
            if known is not None:
                yield from self._read_new(cluster, known)

    def _read_range(self, cluster: Cluster, each: OffsetRange) -> Iterator[pa.RecordBatch]:
        from penstock_spark.reading.rows import read_rows  # compiled loops: not for the driver

        first, end, committed = each.first, each.end, self._options.committed
        if each.from_earliest:
            first = max(first, list_offsets(cluster, {each.place: EARLIEST}, committed=committed)[each.place])
        if each.is_open:
            end = list_offsets(cluster, {each.place: LATEST}, committed=committed)[each.place]
            if end < first:
                self._check_shorter(cluster, each.place, first)
        within = each.within
        first, end = max(first, within.first), end if within.end is None else min(end, within.end)
        yield from read_rows(cluster, self._options, each.place, first, end, within)

    def _check_shorter(self, cluster: Cluster, place: TopicPartition, first: int) -> None:
        """DataLost if a partition ends before the start of its range, uncommitted records included."""
        end = list_offsets(cluster, {place: LATEST}, committed=False)[place]
        if end < first and not self._options.tolerant:
            raise DataLost(
                f"{place} ends at {end}, and was planned to be read from {first} on: its topic was created again. "
                "Create the DataFrame or the view again, too; with failOnDataLoss=false what is left is read."
            )

    def _read_new(self, cluster: Cluster, known: Collection[TopicPartition]) -> Iterator[pa.RecordBatch]:
        """Read partitions that were added after the query was planned."""
        options = self._options
        places = [place for place in options.selection.partitions(cluster) if place not in known]
        if places:
            first = options.starting.resolve(cluster, places, committed=options.committed)
            ranges = [OffsetRange(*place, first[place], first[place], is_open=True) for place in places]
            for each in self._narrowed(cluster, ranges):
                yield from self._read_range(cluster, each)
