"""Reader of a range of one partition as Arrow batches: the work of one Spark task.

The next fetch is in flight while the last one is decoded. Memory is bounded whatever the range is: one answer, the next
one, and one Arrow batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.connection import UnderWay
from penstock.client.fetches import Fetched, receive_fetch, send_fetch
from penstock.client.offsets import EARLIEST, list_offsets
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost
from penstock_spark.reading.records.batches import Batches, Choice, DamagedBatch, RecordBatch
from penstock_spark.reading.records.chunks import chunks
from penstock_spark.reading.records.columns import ColumnBuilder
from penstock_spark.reading.records.fetch_limits import USUAL, FetchLimits
from penstock_spark.reading.records.transaction_wait import TransactionWait

logger = logging.getLogger(__name__)

THROTTLED_S_MAX = 10.0


class RangeReader:
    """Offsets from `first` to before `end`, with the wanted columns.

    With `tolerant` missing records are skipped instead of raising DataLost (`failOnDataLoss=false`). Batches that are
    not chosen are left out, but all records of a chosen one come. Records that a transaction holds back are waited for,
    as long as `transaction_wait` says; they are never skipped.
    """

    def __init__(
        self,
        cluster: Cluster,
        place: TopicPartition,
        first: int,
        end: int,
        wanted: Sequence[str],
        *,
        committed: bool = True,
        tolerant: bool = False,
        choice: Choice | None = None,
    ) -> None:
        self._cluster, self._place, self._end = cluster, place, end
        self._committed, self._tolerant = committed, tolerant
        self.transaction_wait = TransactionWait(place)
        self.limits: FetchLimits = USUAL
        self.batches = Batches(place, first, end, choice)
        self._builder = ColumnBuilder(place, first, end, wanted)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from chunks(self._found(), self._builder, self.limits.rows)
        logger.info(
            "%s: read %d bytes, left out %d bytes of markers, aborted transactions and records that were not asked for",
            self._place, self.batches.read_bytes, self.batches.skipped_bytes,
        )  # fmt: skip

    def _found(self) -> Iterator[RecordBatch | DamagedBatch]:
        try:
            yield from self._fetched()
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            self._lost(f"{self._place} has gone: its topic was deleted")

    def _fetched(self) -> Iterator[RecordBatch | DamagedBatch]:
        batches = self.batches
        sent = None if batches.is_done else self._cluster.patiently(self._ask)
        while sent is not None:
            fetched = self._receive(sent)
            counting = batches.take(fetched)
            sent = None if batches.is_done else self._cluster.patiently(self._ask)
            yield from counting

    def _ask(self) -> UnderWay:
        return send_fetch(
            self._cluster.leader(self._place),
            self._place,
            self.batches.position,
            committed=self._committed,
            max_bytes=self.limits.bytes_for(self.batches.end - self.batches.position),
            max_wait_ms=self.limits.max_wait_ms,
            min_bytes=self.limits.min_bytes,
        )

    def _receive(self, sent: UnderWay) -> Fetched:
        """The answer to the fetch in flight; requested again as long as a quota holds it back."""
        while (fetched := self._answer(sent)).throttled_ms:
            logger.info("%s: the quota of this client is used up for %d ms", self._place, fetched.throttled_ms)
            time.sleep(min(fetched.throttled_ms / 1000, THROTTLED_S_MAX))
            sent = self._cluster.patiently(self._ask)
        return fetched

    def _answer(self, sent: UnderWay) -> Fetched:
        """Receive an answer; it is requested again if it does not come, or reports a transient error."""
        under_way: list[UnderWay] = [sent]

        def attempt() -> Fetched:
            fetched = receive_fetch(under_way.pop() if under_way else self._ask())
            if fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE:
                return self._gone(fetched)
            check(fetched.error, str(self._place))
            if not len(fetched.records) and not fetched.throttled_ms:
                self._nothing(fetched)
            return fetched

        return self._cluster.patiently(attempt)

    def _nothing(self, fetched: Fetched) -> None:
        """Handle an answer without records: compaction removed the rest, they are not committed, or do not exist."""
        batches, end = self.batches, fetched.high_watermark
        if end < batches.end:
            self._lost(f"{self._place} ends at {end}, and offsets up to {batches.end} were asked for")
        if self._committed and fetched.last_stable < min(end, batches.end):
            self.transaction_wait.wait(self._cluster, batches.position, fetched.last_stable)  # and it is asked again
        else:
            batches.position = batches.end

    def _gone(self, fetched: Fetched) -> Fetched:
        """Handle a position that is before the log's start, or behind its end."""
        batches = self.batches
        start = list_offsets(self._cluster, {self._place: EARLIEST}, committed=self._committed)[self._place]
        if start <= batches.position:
            self._lost(f"{self._place} is shorter than {batches.position}: its topic was created again, or lost data")
            batches.position = batches.end
        else:
            self._lost(f"{self._place} starts at {start}, the records from {batches.position} on are gone")
            batches.position = self._builder.first = min(start, batches.end)
        return fetched._replace(error=0, records=fetched.records[:0])

    def _lost(self, what: str) -> None:
        if not self._tolerant:
            raise DataLost(f"{what}. With failOnDataLoss=false what is left is read.")
        logger.warning("%s: going on with what is left", what)
