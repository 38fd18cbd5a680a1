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
from functools import partial

from penstock.broker.transactions.marker_queue import Ending, MarkerQueue
from penstock.broker.transactions.transaction import EPOCH_MAX
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.model.topic_partition import TopicPartition
from penstock.observability.repeats import Repeats
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
        self.queue = MarkerQueue()
        self.repeats = Repeats(logger)  # a transaction has up to all partitions of the node, tried again each second

    def write(self, where: Iterable[TopicPartition], marker: Marker, is_own: IsOwn, done: Callable[[], None]) -> None:
        """Write the marker to all partitions, in portions; `done` is called when each has it on disk or needs none."""
        _Ending(self, frozenset(where), marker, is_own, done).begin(self.queue.add)

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
        """Abort a transaction that is open in a log but unknown to every coordinator.

        The marker is in the log when this returns, if the log takes it: the next transaction may write there.
        """
        logger.warning(
            "%s-%d: aborting a transaction of producer %d that no coordinator knows",
            partition.topic, partition.index, marker.producer_id,
        )  # fmt: skip
        place = TopicPartition(partition.topic, partition.index)
        _Ending(self, frozenset([place]), marker, lambda _: True, lambda: None).begin(self.queue.write_now)


class _Ending:
    """One transaction on its way to its end."""

    __slots__ = ("_count", "_done", "_is_own", "_left", "_marker", "_pending", "_refused", "_unflushed", "_writer")

    def __init__(
        self,
        writer: MarkerWriter,
        where: frozenset[TopicPartition],
        marker: Marker,
        is_own: IsOwn,
        done: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._count = len(where)
        self._left = set(where)
        self._pending = sorted(where, reverse=True)  # the next one is the last
        self._unflushed: set[TopicPartition] = set()
        self._refused: dict[float, list[TopicPartition]] = {}  # by the pause after which they are tried again
        self._marker = marker
        self._is_own = is_own
        self._done = done

    def begin(self, queue: Callable[[Ending], None]) -> None:
        if self._left:
            queue(self)
        else:
            self._done()

    @property
    def is_pending(self) -> bool:
        return bool(self._pending)

    def write_next(self) -> None:
        place = self._pending.pop()
        if len(self._pending) + 1 < self._count:
            pause_at("marker")
        self._unflushed.add(place)
        try:
            marker = self._writer.fitting(place, self._marker, self._is_own)
            self._writer.write_one(place, marker, partial(self._flushed, place))
        except KafkaError as error:
            self._flushed(place, error.code)
        except Exception as error:  # a bug with one partition must not end the work on all transactions
            self._writer.repeats.warning("bug", "%s: a marker: %r", place, error)
            self._flushed(place, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _flushed(self, place: TopicPartition, code: ErrorCode) -> None:
        if place not in self._unflushed:
            return
        self._unflushed.remove(place)
        if code is ErrorCode.NONE or code in _GONE:
            self._left.discard(place)
        else:
            self._try_later(place, code)
        self._writer.queue.flushed()
        if not self._left:
            self._done()

    def _try_later(self, place: TopicPartition, code: ErrorCode) -> None:
        pause = FENCED_RETRY_SECONDS if code in _FENCED else RETRY_SECONDS
        self._writer.repeats.warning(
            code, "%s cannot take a marker (%s), trying again in %d s", place, code.name, pause
        )
        refused = self._refused.get(pause)
        if refused is not None:
            refused.append(place)
            return
        self._refused[pause] = [place]
        asyncio.get_running_loop().call_later(pause, self._try_again, pause)

    def _try_again(self, pause: float) -> None:
        self._pending += reversed(self._refused.pop(pause))
        self._writer.queue.add_again(self)
