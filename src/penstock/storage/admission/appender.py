"""The one way into a log, on disk or in memory: rules, duplicates, offset and epoch, then the write itself.

    append          a client's batch; refused while space is short
    append_trusted  the broker's own (groups, transactions), which may use the reserve
    append_marker   the end of a transaction
    append_mirrored a batch of another log, which keeps the offsets, epoch and producer it has there

This decides; a `Tail` puts the bytes where the log keeps them. Producers learn of a batch after it is written and
before the flush is asked for: a refused write leaves no trace, and a listener of the flush finds them up to date.
Loop thread.
"""

from __future__ import annotations

from typing import Any, Protocol

from penstock.model.batch import CONTROL_BIT, BatchHeader, read_header, stamp, stamp_log_append_time
from penstock.model.control_record import Marker, build_marker, parse_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.admission.append_rules import check_batch_fits
from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.admission.status import Status
from penstock.storage.admission.write_gate import Gate
from penstock.storage.interface import Appended, Log, LogState
from penstock.storage.segment.aborted_index import AbortedEntry

_ONLINE = LogState.ONLINE  # looked up once: this is asked for every batch


class Tail(Protocol):
    """The end of a log, where batches are written."""

    log_end: int

    def write(
        self, batch: bytearray | memoryview, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        """Put a stamped batch at the end; `log_end` rises. Raises KafkaError, in which case nothing was written.

        `timestamp` is its largest, negative if it has none. Offsets may be missing before `base_offset`.
        """
        ...

    def note_aborted(self, entry: AbortedEntry) -> None:
        """Note that the batch written last is the marker of this aborted transaction."""
        ...


class Marks(Protocol):
    """Logs that wait for a flush."""

    def mark(self, log: Any, size_bytes: int) -> None:
        """Ask for a flush: so many bytes were appended to a log."""
        ...


class Appender:
    """Admission to one log, for which it asks `marks` for flushes."""

    __slots__ = ("_epochs", "_gate", "_leader_epoch", "_log", "_marks", "_producers", "_status", "_tail")

    def __init__(
        self,
        tail: Tail,
        status: Status,
        producers: Producers,
        epochs: Epochs,
        gate: Gate,
        marks: Marks,
        log: Log,
    ) -> None:
        self._tail = tail
        self._status = status
        self._producers = producers
        self._epochs = epochs
        self._gate = gate
        self._marks = marks
        self._log = log
        self._leader_epoch = -1

    def begin_epoch(self, leader_epoch: int) -> None:
        """Stamp this epoch into batches from now on."""
        self._leader_epoch = leader_epoch
        if self._status.state is _ONLINE:
            self._epochs.begin(leader_epoch, self._tail.log_end)

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        if not self._gate.accepts_writes:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, self._gate.refusal)
        return self.append_trusted(batch, header, now_ms)

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        if self._status.state is not _ONLINE:
            self._status.check_writable()
        config = self._status.config
        size = len(batch)
        check_batch_fits(config, header, size, now_ms)
        is_idempotent = header.producer_id >= 0 and not header.attributes & CONTROL_BIT
        if is_idempotent:
            seen = self._producers.check(header)
            if seen is not None:
                return Appended(seen.base_offset, seen.last_offset, seen.append_time_ms, True)
        tail = self._tail
        base_offset = tail.log_end
        last_offset = base_offset + header.last_offset_delta
        timestamp = header.max_timestamp
        append_time_ms = -1
        if config.log_append_time:
            timestamp = append_time_ms = now_ms
            stamp_log_append_time(batch, header.attributes, now_ms)
        stamp(batch, base_offset, self._leader_epoch)
        tail.write(batch, base_offset, last_offset, timestamp, now_ms)
        if is_idempotent:
            self._producers.note(header, base_offset, append_time_ms, now_ms)
        self._marks.mark(self._log, size)
        return Appended(base_offset, last_offset, append_time_ms, False)

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        self._producers.check_marker(marker)
        batch = build_marker(marker, now_ms)
        appended = self.append_trusted(batch, read_header(batch), now_ms)
        aborted = self._producers.note_marker(marker, appended.base_offset, now_ms, now_ms)
        if aborted is not None:
            self._tail.note_aborted(aborted)
        return appended

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        """Whether batches are sound and follow each other was checked by the caller; here they are kept as they are."""
        self._status.check_writable()
        if not self._gate.accepts_writes:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "too little room is left")
        base_offset, log_end = header.base_offset, self._tail.log_end
        if base_offset < log_end:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"offset {base_offset} after {log_end - 1}")
        marker = parse_marker(batch, header) if header.is_control and header.producer_id >= 0 else None
        self._tail.write(batch, base_offset, header.last_offset, header.max_timestamp, now_ms)
        self._epochs.begin(header.leader_epoch, base_offset)
        aborted = self._producers.replay(header, marker, now_ms)
        if aborted is not None:
            self._tail.note_aborted(aborted)
        self._marks.mark(self._log, len(batch))
