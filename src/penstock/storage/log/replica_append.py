"""Writing into a mirror: batches of another log, with the offsets, leader epochs and producers that they have there.

Whether they are sound and follow each other is the caller's business; here they are kept so that this log says what
the other one says. Offsets may be missing where compaction took them away at the other end: such a log is marked before
the first hole is in it (`recovery.crash_leftovers`). Loop thread.
"""

from __future__ import annotations

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker, parse_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage import layout
from penstock.storage.interface import LogState
from penstock.storage.log.appender import LogWriter
from penstock.storage.log.epochs import Epochs
from penstock.storage.log.producer_state import Producers
from penstock.storage.recovery.crash_leftovers import record_holes
from penstock.storage.segment.segment import Segment


class MirrorWriter(LogWriter):
    """What `DiskLog` is to the pipe. The fields belong to `DiskLog`."""

    __slots__ = ("_epochs", "snapshot_end")

    _epochs: Epochs
    snapshot_end: int

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        check_mirrored(self.state, self.log_end, header, accepts_writes=self._commit.accepts_writes)
        marker = marker_in(batch, header)
        base_offset, last_offset, timestamp = header.base_offset, header.last_offset, header.max_timestamp
        size = len(batch)
        # A segment begins where the one before ends, whatever is missing between them.
        segment = self._segment_for_append(self.log_end, last_offset, size, timestamp if timestamp >= 0 else now_ms)
        if base_offset > self.log_end:
            self._allow_holes(segment)
        self._write(segment, batch, base_offset, last_offset, timestamp, now_ms)
        self._epochs.begin(header.leader_epoch, base_offset)
        aborted = self._producers.replay(header, marker, now_ms)
        if aborted is not None:
            segment.note_aborted(aborted)
        self._commit.mark(self, size)

    def _allow_holes(self, segment: Segment) -> None:
        """Waits for the disk, once for each log."""
        try:
            record_holes(self._files, self.directory)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        segment.has_holes = True

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`. Waits for the disk.

        The log start is durable, and everything is flushed. Recovery points go first: without them nothing is known of
        the producers from before, whose markers may lie in what was never seen.
        """
        assert self.flushed == self.log_end <= offset
        names = self._files.list_names(self.directory) if self._files.exists(self.directory) else []
        for name in names:
            if layout.offset_of(name, layout.SNAPSHOT) is not None:
                self._files.remove(self.directory / name)
        self._unflushed.abandon()
        self._room.forget()
        gone, self._segments = self._segments, ()
        for segment in gone:
            self._cache.forget(segment.path)
            for path in (segment.path, *layout.derived_paths(self.directory, segment.base_offset)):
                if self._files.exists(path):
                    self._files.remove(path)
        if names:
            self._files.sync_directory(self.directory)
        self._begin_at(offset)

    def _begin_at(self, offset: int) -> None:
        """There is nothing, and the first record will be at `offset` or above."""
        self._producers = Producers()
        self._transactions = self._producers.transactions
        self._epochs.cut_front(offset)
        self.log_start = self.log_end = self.flushed = self.last_stable = offset
        self.snapshot_end, self.unsnapshotted_bytes = -1, 0
        self._end_mark = self._flush_mark = self._flushing = self._mark()


def check_mirrored(state: LogState, log_end: int, header: BatchHeader, *, accepts_writes: bool) -> None:
    """KafkaError if the log takes no batch, or not this one."""
    if state is not LogState.ONLINE:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log is {state.value}")
    if not accepts_writes:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "too little room is left")
    if header.base_offset < log_end:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"offset {header.base_offset} after {log_end - 1}")


def marker_in(batch: bytearray | memoryview, header: BatchHeader) -> Marker | None:
    """The transaction marker in a control batch. KafkaError CORRUPT_MESSAGE."""
    return parse_marker(batch, header) if header.is_control and header.producer_id >= 0 else None
