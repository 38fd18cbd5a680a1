"""Markers: how the end of a transaction reaches its partitions.

The decision is on disk before the first marker is written, and every marker is on disk before anybody is told that the
end is complete. A partition that is gone needs no marker; one whose log has failed gets it when it can be written to
again, which may be after a restart: until then the transaction stays prepared.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from penstock.broker.transactions.transaction import TopicPartition
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.runtime.clock import Clock
from penstock.runtime.pauses import pause_at

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
_GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

OnOffsetsEnded = Callable[[int, Marker], None]


class MarkerWriter:
    """`on_offsets_ended` is told of markers in `__consumer_offsets`, by partition, once they are on disk."""

    def __init__(self, partitions: PartitionTable, clock: Clock, on_offsets_ended: OnOffsetsEnded) -> None:
        self._partitions = partitions
        self._clock = clock
        self._on_offsets_ended = on_offsets_ended

    def write(self, where: Iterable[TopicPartition], marker: Marker, done: Callable[[], None]) -> None:
        """Write the marker to all of them; `done` when each is on disk or needs none."""
        _Ending(self, frozenset(where), marker, done).begin()

    def write_one(self, place: TopicPartition, marker: Marker, flushed: Callable[[ErrorCode], None]) -> None:
        """`flushed` is called with the outcome, perhaps at once. KafkaError if it cannot be written."""
        partition = self._partitions.get(place.topic, place.partition)
        if partition.failed:
            raise KafkaError(partition.failure)
        last_offset = partition.append_marker(marker, self._clock.now_ms()).last_offset

        def on_disk() -> None:
            if partition.high_watermark <= last_offset:  # woken by a failure, not by the flush
                flushed(partition.failure)
                return
            if place.topic == CONSUMER_OFFSETS:
                self._on_offsets_ended(place.partition, marker)
            flushed(ErrorCode.NONE)

        if partition.when_flushed(last_offset, on_disk):
            on_disk()

    def abort_unknown(self, partition: Partition, marker: Marker) -> None:
        """A transaction that is open in a log, but that no coordinator knows."""
        log.warning(
            "%s-%d: aborting a transaction of producer %d that nobody coordinates",
            partition.topic, partition.index, marker.producer_id,
        )  # fmt: skip
        self.write([TopicPartition(partition.topic, partition.index)], marker, lambda: None)


class _Ending:
    """One transaction on its way to its end."""

    __slots__ = ("_done", "_left", "_marker", "_writer")

    def __init__(
        self, writer: MarkerWriter, where: frozenset[TopicPartition], marker: Marker, done: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._left = set(where)
        self._marker = marker
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
                self._writer.write_one(place, self._marker, lambda code, place=place: self._flushed(place, code))  # type: ignore[misc]
            except KafkaError as error:
                self._flushed(place, error.code)

    def _flushed(self, place: TopicPartition, code: ErrorCode) -> None:
        if code in _FENCED:
            log.warning("%s: %s, a later end of the same producer is there already", place, code.name)
        elif code is not ErrorCode.NONE and code not in _GONE:
            log.warning("%s cannot take a marker (%s), trying again", place, code.name)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._write, [place])
            return
        self._left.discard(place)
        if not self._left:
            self._done()
