"""Finding the aborted transactions of a log on disk: through index files, or, where one is lost, through the batches.

May run in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage import layout
from penstock.storage.log import aborted_search
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.segment_list import SegmentList, index_of_holder
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedIndex
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets
from penstock.storage.segment.segment import Segment


class AbortedLookup:
    """The aborted transactions of one log's segments."""

    __slots__ = ("_cache", "_directory", "_files", "_segments")

    def __init__(self, context: LogContext, identity: LogIdentity, segments: SegmentList) -> None:
        self._files = context.files
        self._cache = context.cache
        self._directory = identity.directory
        self._segments = segments

    def entries(self, start: int, end: int, *, wait: bool) -> list[AbortedEntry]:
        """Entries whose marker is at or above `start` and whose first offset is below `end`, by the marker's offset."""
        while True:
            segments = self._segments.all
            first = index_of_holder(segments, start)
            make_whole = partial(self.load, segments) if wait else _would_wait
            try:
                return list(aborted_search.search(segments, first, start, end, make_whole))
            except FileNotFoundError as error:  # retention or compaction was faster, or the file is gone
                if segments is self._segments.all:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None

    def load(self, segments: tuple[Segment, ...], segment: Segment, index: AbortedIndex) -> None:
        """Make a segment's index whole, from its file or, if that is lost, from the batches. Waits for the disk."""
        if index.is_whole:
            return
        try:
            data = self._files.read_bytes(layout.aborted_index_path(self._directory, segment.base_offset))
            if index.take_file(data):
                return
        except OSError:
            pass
        index.take(aborted_search.rebuild(segments[: segments.index(segment) + 1], self._transactional_batches))

    def _transactional_batches(self, segment: Segment) -> Iterator[tuple[BatchHeader, Marker | None]]:
        """Up to where the bytes stop making sense: anything after that is not served either."""
        file = self._cache.acquire(segment.path)
        try:
            scanner = BatchScanner(file, 0, segment.size, ExpectedOffsets(segment.base_offset), verify=False)
            yield from aborted_search.transactional(scanner)
        finally:
            self._cache.release(file)


def _would_wait(segment: Segment, index: AbortedIndex) -> None:
    raise BlockingIOError
