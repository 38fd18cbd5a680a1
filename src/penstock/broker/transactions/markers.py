"""Markers: the end of a transaction, written to its partitions.

The decision is on disk before the first marker is written, and every marker is on disk before the end is reported as
complete. A partition that is gone needs no marker; one whose log has failed gets it when it can be written to
again, which may be after a restart: until then the transaction stays prepared. So it does if the log has seen a later
epoch of the producer, as after markers from outside (WriteTxnMarkers): nothing is claimed that is not there.

After a power cut a log may have batches of the next transaction already, whose record is lost: the coordinator knows
only of the end before it, which it finishes once more. Such batches are aborted, not ended with the one before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from penstock.broker.transactions.transaction import EPOCH_MAX
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.clock import Clock
from penstock.runtime.pauses import pause_at

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
FENCED_RETRY_SECONDS = 60.0
_GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

OnOffsetsEnded = Callable[[int, Marker], None]
IsOwn = Callable[[int], bool]
"""Whether batches of an epoch belong to the transaction that a marker ends."""


class MarkerWriter:
    """Writes markers. `on_offsets_ended` is called with those in `__consumer_offsets`, once they are on disk."""

    def __init__(self, partitions: PartitionTable, clock: Clock, on_offsets_ended: OnOffsetsEnded) -> None:
        self._partitions = partitions
        self._clock = clock
        self._on_offsets_ended = on_offsets_ended

    def write(self, where: Iterable[TopicPartition], marker: Marker, is_own: IsOwn, done: Callable[[], None]) -> None:
        """Write the marker to all partitions; `done` is called when each has it on disk or needs none."""
        _Ending(self, frozenset(where), marker, is_own, done).begin()

    def write_one(self, place: TopicPartition, marker: Marker, done: Callable[[ErrorCode], None]) -> None:
        """Write one marker; `done` is called with the outcome, perhaps at once. KafkaError if it cannot be written."""
        partition = self._partitions.get(place.topic, place.partition)
        if partition.failed:
            raise KafkaError(partition.failure)
        last_offset = partition.append_marker(marker, self._clock.now_ms()).last_offset

        def visible(code: ErrorCode) -> None:
            if code is ErrorCode.NONE and place.topic == CONSUMER_OFFSETS:
                self._on_offsets_ended(place.partition, marker)
            done(code)

        partition.when_visible(last_offset, visible)

    def fitting(self, place: TopicPartition, marker: Marker, is_own: IsOwn) -> Marker:
        """The marker that fits this log.

        This node's coordinator is the only one: whatever epoch a marker from outside had, its own is not lower. An open
        transaction that is not the one to be ended is aborted.
        """
        known = self._partitions.get(place.topic, place.partition).producer(marker.producer_id)
        if known is None:
            return marker
        if known.current_txn_start_offset >= 0 and not is_own(known.producer_epoch):
            epoch = min(known.producer_epoch + 1, EPOCH_MAX)
            marker = marker._replace(producer_epoch=epoch, is_commit=False)
        return marker._replace(coordinator_epoch=max(known.coordinator_epoch, marker.coordinator_epoch))

    def abort_unknown(self, partition: Partition, marker: Marker) -> None:
        """Abort a transaction that is open in a log but unknown to every coordinator."""
        logger.warning(
            "%s-%d: aborting a transaction of producer %d that no coordinator knows",
            partition.topic, partition.index, marker.producer_id,
        )  # fmt: skip
        self.write([TopicPartition(partition.topic, partition.index)], marker, lambda _: True, lambda: None)


class _Ending:
    """One transaction on its way to its end."""

    __slots__ = ("_done", "_is_own", "_left", "_marker", "_writer")

    def __init__(
        self,
        writer: MarkerWriter,
        where: frozenset[TopicPartition],
        marker: Marker,
        is_own: IsOwn,
        done: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._left = set(where)
        self._marker = marker
        self._is_own = is_own
        self._done = done

    def begin(self) -> None:
        if not self._left:
            self._done()
            return
        self._write(sorted(self._left))

    def _write(self, places: list[TopicPartition]) -> None:
        for count, place in enumerate(places):
            if count:
                pause_at("marker")
            try:
                marker = self._writer.fitting(place, self._marker, self._is_own)
                self._writer.write_one(place, marker, lambda code, place=place: self._flushed(place, code))  # type: ignore[misc]
            except KafkaError as error:
                self._flushed(place, error.code)

    def _flushed(self, place: TopicPartition, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE and code not in _GONE:
            pause = FENCED_RETRY_SECONDS if code in _FENCED else RETRY_SECONDS
            logger.warning("%s cannot take a marker (%s), trying again in %d s", place, code.name, pause)
            asyncio.get_running_loop().call_later(pause, self._write, [place])
            return
        self._left.discard(place)
        if not self._left:
            self._done()
