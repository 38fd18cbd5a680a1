"""The first half of compaction: where each key was last written. No I/O. The second half is `clean_batch`."""

from __future__ import annotations

from penstock.model.batch import BatchHeader, Buffer
from penstock.model.errors import KafkaError
from penstock.model.records import records_payload, scan_records
from penstock.storage.compaction.clean_batch import key_digest
from penstock.storage.segment.aborted_index import AbortedRanges

KEY_COUNT_MAX = 500_000  # about 100 MB of the worker's memory


class KeyMap:
    """The last offset of every key (as a digest) in the dirty part of a log, from its beginning until it is full."""

    def __init__(self, first_dirty: int, key_count_max: int, aborted: AbortedRanges) -> None:
        self._aborted = aborted
        self._first_dirty = first_dirty
        self._key_count_max = key_count_max
        self.latest: dict[bytes, int] = {}
        self.clean_end = first_dirty
        self.is_full = False

    def add(self, header: BatchHeader, batch: Buffer) -> bool:
        """The next batch. False if it does not fit, and neither does any after it."""
        if header.next_offset <= self._first_dirty:
            return True
        self.is_full = len(self.latest) + header.record_count > self._key_count_max and bool(self.latest)
        if not self.is_full:
            self._add_keys(header, batch)
            self.clean_end = header.next_offset
        return not self.is_full

    def end_segment(self, end_offset: int) -> None:
        """All batches of a segment were added; there may be a gap between the last one and the next segment."""
        self.clean_end = max(self.clean_end, end_offset)

    def _add_keys(self, header: BatchHeader, batch: Buffer) -> None:
        if header.is_control or self._aborted.covers(header):
            return
        try:
            payload = records_payload(batch, header)
            found = [
                (key_digest(span.key), header.base_offset + span.offset_delta)
                for span in scan_records(payload, header.record_count)
                if span.key is not None
            ]
        except (ValueError, KafkaError):
            return  # the batch stays as it is, and so do the records that it may replace
        self.latest.update(found)
