"""A streaming query over topics.

Spark asks for the end of the next batch (`latestOffset`) whenever it is idle, about ninety times a second. The answer
comes from the broker at most every `ASK_EVERY_S`; until then the call waits, as an idle query does anyway.

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
from penstock.client.offsets import EARLIEST, LATEST, commit_offsets, list_offsets
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost
from penstock_spark.reading.options import ReadOptions
from penstock_spark.reading.planning.admission import Offsets, available, limited
from penstock_spark.reading.planning.progress import Progress
from penstock_spark.reading.planning.ranges import OffsetRange, split
from penstock_spark.refusals import remedy_of

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

ASK_EVERY_S = 0.05
REPORT_AGAIN_S = 30.0


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query on the driver; only `read` runs on executors, on a copy."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._cluster: Cluster | None = None
        self._asked_at = 0.0
        self._few_since: float | None = None  # since when there have been records, but too few for a batch
        self._target: Offsets | None = None  # the end of a query that reads only what existed at its start
        self._reported: Offsets = {}
        self._report_at = 0.0
        self._last_ends: Offsets = {}
        self._last_lost = ""
        self._ids: dict[str, str] = {}  # of the topics, as they were found last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cluster": None}

    # --- how far -----------------------------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        cluster, options = self._connected(), self._options
        with options.broker.plain_refusals():
            places, self._ids, _ = options.selection.find_all(cluster)
            offsets = options.starting.resolve(cluster, places, committed=options.committed)
        return self._progress(offsets, options.group or f"{options.group_prefix}-{uuid.uuid4()}")

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._options
        if options.max_offsets is not None:
            return ReadMaxRows(options.max_offsets)
        return ReadAllAvailable() if options.min_offsets is None else ReadMinRows(options.min_offsets)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with self._options.broker.plain_refusals():
            self._target = self._ends(self._partitions())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        progress = Progress.from_json(start)
        self._report(progress)
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
        if end == begun:
            return start
        self._few_since = None
        return self._progress(end, progress.group)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return self._progress(self._last_ends, "") if self._last_ends else None

    def _progress(self, offsets: Mapping[TopicPartition, int], group: str) -> dict[str, Any]:
        options = self._options
        return Progress(offsets, group, options.min_partitions, options.max_records, self._ids).to_json()

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
            self._cluster = self._options.broker.connect()
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
            self._lost(f"{', '.join(map(str, gone))} has gone")
        new = [place for place in places if place not in begun]
        first = {place: begun[place] for place in places if place in begun}
        if new:
            logger.info("new partitions: %s", ", ".join(map(str, new)))
            wanted = dict.fromkeys(new, EARLIEST)
            first.update(list_offsets(self._connected(), wanted, committed=self._options.committed))
        return first

    def _reachable(self, first: Offsets) -> Offsets:
        """The end up to which each partition can be read now.

        A target does not move: later records are for the next run.
        """
        ends = self._ends(list(first))
        for place, offset in ends.items():
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

    def _report(self, done: Progress) -> None:
        """Report progress to the group; a failure of that does not fail the query."""
        group = self._options.group or done.group
        moved = {place: offset for place, offset in done.offsets.items() if self._reported.get(place) != offset}
        if not moved or time.monotonic() < self._report_at:
            return
        try:
            commit_offsets(self._connected(), group, moved)
            self._reported.update(moved)
        except (BrokerUnavailable, KafkaError) as error:
            remedy = remedy_of(error, self._options.broker.security) if isinstance(error, KafkaError) else None
            if remedy:  # an idle query comes here twenty times a second, and a right is not given as soon
                self._report_at = time.monotonic() + REPORT_AGAIN_S
            logger.warning("progress is not reported to the group %s: %s. %s", group, error, remedy or "")

    # --- tasks -------------------------------------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        begun, until = Progress.from_json(start), Progress.from_json(end)
        first = begun.of_same_topics(until.ids)
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

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from penstock_spark.reading.rows import read_rows  # compiled loops: not for the driver

        assert isinstance(partition, OffsetRange)
        with self._options.broker.session() as cluster:
            yield from read_rows(cluster, self._options, partition.place, partition.first, partition.end)

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
