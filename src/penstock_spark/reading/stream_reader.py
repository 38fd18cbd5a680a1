"""A streaming query over topics.

Spark asks for the end of the next batch (`latestOffset`) whenever it is idle, about ninety times a second. The answer
comes from the broker at most every `ASK_EVERY_S`; until then the call waits, as an idle query does anyway.

A checkpoint of Spark's own Kafka source is gone on with: its offsets have the same form (`planning.progress`). The
first batch after that adds what ours has besides, even if there is nothing to read.

Progress goes to a consumer group, so that the lag of a pipeline can be seen like any other. Spark calls `commit` a
batch late and never for the last one; but `latestOffset(start)` is only called when everything before `start` is done.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.offsets import EARLIEST, LATEST, list_offsets
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption, DataLost
from penstock_spark.plain_errors import plainly
from penstock_spark.reading.group_report import GroupReport
from penstock_spark.reading.options import ReadOptions, hasty
from penstock_spark.reading.planning.admission import Offsets, available, limited
from penstock_spark.reading.planning.progress import Progress
from penstock_spark.reading.planning.ranges import OffsetRange, split

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

ASK_EVERY_S = 0.05


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query on the driver; only `read` runs on executors, on a copy."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._cluster: Cluster | None = None
        self._asked_at = 0.0
        self._few_since: float | None = None  # since when there have been records, but too few for a batch
        self._target: Offsets | None = None  # the end of a query that reads only what existed at its start
        self._report = GroupReport(options.broker.security)
        self._last_ends: Offsets = {}
        self._last_lost = ""
        self._ids: dict[str, str] = {}  # of the topics, as they were found last
        self._group = options.group or f"{options.group_prefix}-{uuid.uuid4()}"  # unless the checkpoint has one

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cluster": None}

    # --- how far -----------------------------------------------------------------------------------------------------

    @plainly()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        cluster, options = self._connected(), self._options
        with options.broker.plain_refusals():
            places, self._ids, _ = options.selection.find_all(cluster)
            offsets = options.starting.resolve(cluster, places, committed=options.committed)
        return self._progress(offsets, self._group, is_begin=True).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._options
        if options.max_offsets is not None:
            return ReadMaxRows(options.max_offsets)
        return ReadAllAvailable() if options.min_offsets is None else ReadMinRows(options.min_offsets)

    @plainly()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with self._options.broker.plain_refusals():
            selection = self._options.selection
            found = selection.find(self._connected())
            if found.missing and not self._options.tolerant:
                raise selection.not_there(found)
            self._target = self._ends(found.places)

    @plainly()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        progress = Progress.from_json(start)
        self._report.tell(self._connected(), self._options.group or progress.group or self._group, progress.offsets)
        self._wait()
        try:
            with self._options.broker.plain_refusals():
                places = self._partitions()
                begun = self._begun(progress)
                first = self._starts(begun, places)
                end = self._reachable(first)
        except (BrokerUnavailable, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            logger.warning("no new batch for now: %s", error)  # a topic that goes just now is missed the next time
            return start
        if not isinstance(limit, ReadAllAvailable) and not self._is_enough(available(first, end)):
            return start
        if isinstance(limit, ReadMaxRows):
            end = limited(first, end, limit.max_rows)
        if end == begun and progress.is_ours:
            return start
        self._few_since = None
        began = progress.offsets if progress.is_begin else None
        return self._progress(end, progress.group or self._group, began=began).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return Progress(self._last_ends, "").to_json() if self._last_ends else None

    def _progress(
        self,
        offsets: Mapping[TopicPartition, int],
        group: str,
        *,
        began: Mapping[TopicPartition, int] | None = None,
        is_begin: bool = False,
    ) -> Progress:
        options = self._options
        return Progress(offsets, group, options.min_partitions, options.max_records, self._ids, began, is_begin)

    def _is_enough(self, count: int) -> bool:
        """Whether there are `minOffsetsPerTrigger`; `maxTriggerDelay` after the first record any number is enough."""
        least = self._options.min_offsets
        if least is None or count >= least or self._target is not None:
            return True
        now = time.monotonic()
        if count and self._few_since is None:
            self._few_since = now
        return self._few_since is not None and now - self._few_since >= self._options.max_delay_s

    def _wait(self) -> None:
        pause = self._asked_at + ASK_EVERY_S - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        self._asked_at = time.monotonic()

    # --- the broker --------------------------------------------------------------------------------------------------

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._options.planner.connect()
        return self._cluster

    def _partitions(self) -> list[TopicPartition]:
        found = self._options.selection.find(self._connected())
        if found.missing:
            self._lost(f"there is no {found.missing}: it was deleted while the query ran")
        self._ids = found.ids
        return found.places

    def _ends(self, places: Sequence[TopicPartition]) -> Offsets:
        wanted = dict.fromkeys(places, LATEST)
        self._last_ends = list_offsets(self._connected(), wanted, committed=self._options.committed)
        return self._last_ends

    def _written(self, places: Sequence[TopicPartition]) -> Offsets:
        """The ends of partitions, uncommitted records included."""
        return list_offsets(self._connected(), dict.fromkeys(places, LATEST), committed=False) if places else {}

    def _begun(self, progress: Progress) -> Offsets:
        """The progress in topics that are still the same; a topic with another id is new, whatever its name."""
        begun = progress.of_same_topics(self._ids)
        replaced = sorted({place.topic for place in progress.offsets.keys() - begun.keys()})
        if replaced:
            self._lost(f"{', '.join(replaced)} was deleted and created again")
        return begun

    def _starts(self, begun: Mapping[TopicPartition, int], places: Sequence[TopicPartition]) -> Offsets:
        """The start of the batch; partitions that were added since are read from their first record on."""
        gone = sorted(begun.keys() - set(places))
        if gone:
            self._left_out(gone)
        new = [place for place in places if place not in begun]
        first = {place: begun[place] for place in places if place in begun}
        if new:
            logger.info("new partitions: %s", ", ".join(map(str, new)))
            wanted = dict.fromkeys(new, EARLIEST)
            first.update(list_offsets(self._connected(), wanted, committed=self._options.committed))
        return first

    def _left_out(self, gone: Sequence[TopicPartition]) -> None:
        """Handle partitions of the checkpoint that are not read any more: deleted, or no longer asked for."""
        cluster = self._connected()
        there = cluster.patiently(lambda: cluster.topics({place.topic for place in gone}))
        others = sorted({place.topic for place in gone if place.topic in there})
        if others and not self._options.tolerant:
            raise BadOption(
                f"the checkpoint is of a query that reads {', '.join(others)}, and this one does not: give it a "
                "checkpointLocation of its own, or name these topics, too"
            )
        self._lost(f"{', '.join(map(str, gone))} has gone")

    def _reachable(self, first: Offsets) -> Offsets:
        """The end up to which each partition can be read now.

        A target does not move: later records are for the next run. A query that was begun by a reader of uncommitted
        records may be ahead of those that are committed, which is no loss: it waits for them.
        """
        ends = self._ends(list(first))
        late = [place for place, offset in ends.items() if offset < first[place]]
        for place, offset in self._written(late).items():
            if offset < first[place]:
                self._lost(f"{place} ends at {offset} and was read up to {first[place]}: its topic was created again")
        if self._target is not None:
            ends = {place: min(offset, self._target.get(place, first[place])) for place, offset in ends.items()}
        return {place: max(offset, first[place]) for place, offset in ends.items()}

    def _lost(self, what: str) -> None:
        if not self._options.tolerant:
            raise DataLost(f"{what}. With failOnDataLoss=false the query goes on with what there is.")
        if what != self._last_lost:  # an idle query comes here twenty times a second
            logger.warning("%s: going on with what there is", what)
        self._last_lost = what

    # --- tasks -------------------------------------------------------------------------------------------------------

    @plainly()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        begun, until = Progress.from_json(start), Progress.from_json(end)
        if begun.is_begin and not until.is_ours:
            self._check_begin()
        first = begun.of_same_topics(until.ids) if until.began is None else dict(until.began)
        new = {place: EARLIEST for place in until.offsets if place not in first}
        if new:
            with self._options.broker.plain_refusals():
                first.update(list_offsets(self._connected(), new, committed=self._options.committed))
        ranges = [
            OffsetRange(*place, first[place], offset)
            for place, offset in sorted(until.offsets.items())
            if offset > first[place]
        ]
        return split(ranges, least_count=until.least_count, most_records=until.most_records)

    def _check_begin(self) -> None:
        """Check that the start of another source's first batch, which was not finished, follows from the options."""
        if not self._options.starting.is_fixed:
            raise BadOption(
                "the first batch of this checkpoint was not finished, and Spark's Kafka source left its start in the "
                "file sources/0/0 of it: give the JSON of that file as startingOffsets"
            )

    def hasty(self) -> StreamReader:
        """The same for reading while a batch is planned: it waits neither for transactions nor long for a broker."""
        return StreamReader(hasty(self._options))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from penstock_spark.reading.rows import read_rows  # compiled loops: not for the driver

        assert isinstance(partition, OffsetRange)
        with self._options.broker.session() as cluster:
            yield from read_rows(cluster, self._options, partition.place, partition.first, partition.end)

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
