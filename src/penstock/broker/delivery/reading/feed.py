"""Committed records of one partition, read forwards: from the page cache, or in a thread.

On the event loop, cached data are read and small batches unpacked. Anything else raises BlockingIOError: then `prepare`
has to be called in a thread, and nothing else may be called meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.broker.delivery.reading.record_encoder import Chunk, RecordEncoder, Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedFilter, AbortedTransaction, has_transactions
from penstock.model.batch import HEADER_BYTES, BatchHeader, iter_headers
from penstock.model.compression import decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX

READ_BYTES = 64 * 1024
CHUNK_RECORDS = 200
"""Records decoded at a time: about half a millisecond."""


UNPACKED_AT_ONCE_BYTES = 16 * 1024
"""A larger compressed batch is unpacked in a thread."""


class BatchCursor:
    """The batches of a slice of a log, walked over a bounded number of records at a time.

    Markers and batches of aborted transactions are left out. KafkaError CORRUPT_MESSAGE where bytes do not decode.
    """

    __slots__ = ("_aborted", "_batches", "_left", "_payload", "_place", "_records", "header", "next_offset")

    def __init__(self, records: bytes, next_offset: int, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._records = records
        self.next_offset = next_offset  # of the first record behind the slice
        self._aborted = AbortedFilter(aborted)
        self._batches = list(iter_headers(records))
        self._batches.reverse()
        self.header: BatchHeader | None = None
        self._payload = b""
        self._place = (0, 0)  # position in the payload, and its end
        self._left = 0  # records of the batch that are not taken yet

    @property
    def is_heavy(self) -> bool:
        """Whether unpacking the next batch would hold up the loop."""
        if not self._batches:
            return False
        header = self._batches[-1][1]
        return header.codec != 0 and header.size_bytes > UNPACKED_AT_ONCE_BYTES

    def open_batch(self) -> bool:
        """Go to the next batch with messages, and unpack it; False at the end. Call it in a thread for a large one."""
        while self._batches:
            position, header = self._batches.pop()
            if self._aborted.leaves_out(header):
                continue
            self.header = header
            self._left = header.record_count
            end = position + header.size_bytes
            if header.codec:
                body = memoryview(self._records)[position + HEADER_BYTES : end]
                try:
                    self._payload = bytes(decompress(header.codec, body, STORED_DECOMPRESSED_BYTES_MAX))
                except ValueError as error:
                    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset}: {error}") from error
                self._place = (0, len(self._payload))
            else:
                self._payload = self._records
                self._place = (position + HEADER_BYTES, end)
            return True
        self.header = None
        return False

    def take(
        self,
        chunk: Chunk,
        partition: int,
        *,
        start: int,
        ttl_ms: int,
        now_ms: int,
        limit: int = 1 << 31,
        wanted: Wanted | None = None,
    ) -> None:
        """Go over up to `limit` records of the open batch, and add those from `start` on that are wanted to a chunk."""
        header = self.header
        assert header is not None
        reader = RecordEncoder(chunk, partition, start, ttl_ms, now_ms, wanted)
        count = min(limit, self._left)
        position, end = self._place
        try:
            position = reader.walk(self._payload, position, end, header, count)
        except (ValueError, IndexError) as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset}: {error}") from error
        self._left -= count
        self._place = (position, end)
        if not self._left:
            self.header = None
            chunk.next_offset = header.base_offset + header.last_offset_delta + 1


class Feed:
    """The place in one partition from which reading goes on."""

    __slots__ = ("_cursor", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._cursor: BatchCursor | None = None

    def next_chunk(self, position: int, *, ttl_ms: int, now_ms: int, wanted: Wanted | None) -> Chunk | None:
        """The next messages from `position` on; None if nothing is new. After an empty chunk, reading goes on."""
        cursor = self._cursor
        if cursor is None:
            if position >= self.partition.last_stable:
                return None
            cursor = self._cursor = self._open(position, wait=False)
        chunk = Chunk(position)
        while len(chunk.offsets) < CHUNK_RECORDS:
            if cursor.header is None:
                if cursor.is_heavy:
                    if chunk.offsets:
                        return chunk
                    raise BlockingIOError
                if not cursor.open_batch():
                    self._cursor = None
                    chunk.next_offset = max(position, cursor.next_offset)
                    return chunk
            limit = CHUNK_RECORDS - len(chunk.offsets)
            cursor.take(
                chunk, self.partition.index, start=position, ttl_ms=ttl_ms, now_ms=now_ms, limit=limit, wanted=wanted
            )
        return chunk

    def prepare(self, position: int) -> None:
        """Read and unpack what `next_chunk` would have to wait for; to be called in a thread."""
        if self._cursor is None:
            self._cursor = self._open(position, wait=True)
        if self._cursor.header is None and not self._cursor.open_batch():
            self._cursor = BatchCursor(b"", self._cursor.next_offset)

    def forget(self) -> None:
        """Drop everything that was read; reading begins again at a position."""
        self._cursor = None

    def _open(self, position: int, *, wait: bool) -> BatchCursor:
        # The last batch is kept in memory for readers at the end of the log: a message that has just arrived costs no
        # read.
        last = self.partition.last_batch
        if last is not None and last.offset == position:
            return BatchCursor(last.batch, last.next_offset)
        return _open_cursor(self.partition, position, wait=wait)


def _open_cursor(partition: Partition, position: int, *, wait: bool) -> BatchCursor:
    read = partition.read(position, READ_BYTES, end=partition.last_stable, one_batch_at_least=True, wait=wait)
    records = bytes(read.records)
    if not records:
        return BatchCursor(b"", max(position, read.next_offset))
    aborted: tuple[AbortedTransaction, ...] = ()
    if has_transactions(records):
        aborted = tuple(partition.aborted_transactions(read.first_offset, read.next_offset, wait=wait))
    return BatchCursor(records, read.next_offset, aborted)
