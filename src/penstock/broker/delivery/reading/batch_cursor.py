"""Batches of a slice of a log, as messages a bounded number at a time. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.broker.delivery.reading.record_encoder import Chunk, RecordEncoder, Wanted
from penstock.model.aborted_filter import AbortedFilter, AbortedTransaction
from penstock.model.batch import HEADER_BYTES, BatchHeader, iter_headers
from penstock.model.compression import decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX

UNPACKED_AT_ONCE_BYTES = 16 * 1024
"""A larger compressed batch is unpacked in a thread."""


class BatchCursor:
    """The batches of a slice of a log, walked over a bounded number of records at a time.

    Markers and batches of aborted transactions are left out. KafkaError CORRUPT_MESSAGE where bytes do not decode.
    """

    __slots__ = ("_aborted", "_batches", "_left", "_payload", "_place", "_records", "header", "next_offset")

    def __init__(self, records: bytes, next_offset: int, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self._records = records
        self.next_offset = next_offset  # behind all of it
        self._aborted = AbortedFilter(aborted)
        self._batches = list(iter_headers(records))
        self._batches.reverse()
        self.header: BatchHeader | None = None
        self._payload = b""
        self._place = (0, 0)  # in the payload, and where that ends
        self._left = 0  # records of the batch

    @property
    def is_heavy(self) -> bool:
        """Whether unpacking the next batch would hold up the loop."""
        if not self._batches:
            return False
        header = self._batches[-1][1]
        return header.codec != 0 and header.size_bytes > UNPACKED_AT_ONCE_BYTES

    def open_batch(self) -> bool:
        """Go to the next batch with messages, and unpack it; False at the end. A large one is worth a thread."""
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
        """Add up to `limit` records of the open batch to a chunk: those from `start` on that are wanted."""
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


def read_chunk(
    records: bytes,
    partition: int,
    *,
    start: int,
    next_offset: int,
    ttl_ms: int,
    now_ms: int,
    aborted: Iterable[AbortedTransaction] = (),
    wanted: Wanted | None = None,
) -> Chunk:
    """The messages from `start` on of all batches in `records`. KafkaError CORRUPT_MESSAGE if they do not decode."""
    chunk = Chunk(next_offset)
    cursor = BatchCursor(records, next_offset, aborted)
    while cursor.open_batch():
        cursor.take(chunk, partition, start=start, ttl_ms=ttl_ms, now_ms=now_ms, wanted=wanted)
    chunk.next_offset = next_offset
    return chunk
