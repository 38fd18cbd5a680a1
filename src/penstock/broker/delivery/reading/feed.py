"""Committed records of one partition, read forwards: from the page cache, or in a thread.

On the event loop, cached data are read and small batches unpacked. Anything else raises BlockingIOError: then `prepare`
has to be called in a thread, or `prepare_huge` if `is_huge`, and nothing else may be called meanwhile.

The size of a packed batch says nothing of what is in it: zstd packs 256 MiB of zeros into 8 KiB. So whoever unpacks
says how much may come out, and leaves a batch that has more to the next in line: the loop, any thread, the one thread
for the largest.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from mmap import mmap
from typing import cast

from penstock.broker.delivery.reading.record_encoder import ITEM_BYTES_MAX, Chunk, RecordEncoder, Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedFilter, AbortedTransaction, has_transactions
from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, iter_headers
from penstock.model.compression import DecompressedTooLarge, decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX

READ_BYTES = 64 * 1024
CHUNK_RECORDS = 200
"""Records decoded at a time: about half a millisecond."""


CHUNK_UNPACKED_BYTES = 256 * 1024
"""Bytes unpacked at a time, of batches that are small each."""
PACKED_AT_ONCE_BYTES = 16 * 1024
UNPACKED_AT_ONCE_BYTES = 64 * 1024
"""A compressed batch that is larger, packed or unpacked, is unpacked in a thread: this much takes 20 to 300 µs."""
UNPACKED_BY_ANY_BYTES = 4 * 1024 * 1024
"""What several threads may unpack at the same time."""


class BatchCursor:
    """The batches of a slice of a log, walked over a bounded number of records at a time.

    Markers and batches of aborted transactions are left out. KafkaError CORRUPT_MESSAGE where bytes do not decode.
    """

    __slots__ = (
        "_aborted", "_batches", "_exceeded_bytes", "_left", "_payload", "_place", "_records", "header", "next_offset",
    )  # fmt: skip

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
        self._exceeded_bytes = 0  # the next batch is known to unpack to more than this

    @property
    def is_heavy(self) -> bool:
        """Whether unpacking the next batch would hold up the loop, as far as that is known before it is tried."""
        if not self._batches:
            return False
        header = self._batches[-1][1]
        return header.codec != 0 and (header.size_bytes > PACKED_AT_ONCE_BYTES or self._exceeded_bytes > 0)

    @property
    def is_huge(self) -> bool:
        """Whether the next batch has to be unpacked alone."""
        return self._exceeded_bytes >= UNPACKED_BY_ANY_BYTES

    @property
    def unpacked_bytes(self) -> int:
        """Bytes of the open batch, if it was compressed."""
        return 0 if self._payload is self._records else len(self._payload)

    def let_go(self) -> None:
        """Give up the open batch."""
        payload, self._payload = self._payload, b""
        _free(payload)

    def open_batch(self, limit: int = STORED_DECOMPRESSED_BYTES_MAX) -> bool:
        """Go to the next batch with messages, and unpack it; False at the end.

        BlockingIOError if it unpacks to more than a lower `limit`: it is still the next one then.
        """
        while self._batches:
            position, header = self._batches[-1]
            if self._aborted.leaves_out(header):
                self._batches.pop()
                continue
            end = position + header.size_bytes
            if header.codec:
                self._payload = self._unpack(header, position + HEADER_BYTES, end, limit)
                self._place = (0, len(self._payload))
            else:
                self._payload = self._records
                self._place = (position + HEADER_BYTES, end)
            self._batches.pop()
            self._exceeded_bytes = 0
            self.header = header
            self._left = header.record_count
            return True
        self.header = None
        return False

    def _unpack(self, header: BatchHeader, start: int, end: int, limit: int) -> bytes:
        try:
            return _kept(decompress(header.codec, memoryview(self._records)[start:end], limit))
        except KafkaError as error:
            if isinstance(error, DecompressedTooLarge) and limit < STORED_DECOMPRESSED_BYTES_MAX:
                self._exceeded_bytes = limit
                raise BlockingIOError from None
            raise KafkaError(error.code, f"offset {header.base_offset}: {error.message}") from None

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
        item_bytes_max: int = ITEM_BYTES_MAX,
    ) -> None:
        """Go over up to `limit` records of the open batch, and add those from `start` on that are wanted to a chunk,
        until it is full.
        """
        header = self.header
        assert header is not None
        reader = RecordEncoder(chunk, partition, start, ttl_ms, now_ms, wanted, item_bytes_max)
        count = min(limit, self._left)
        position, end = self._place
        try:
            count, position = reader.walk(self._payload, position, end, header, count)
        except (ValueError, IndexError) as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"offset {header.base_offset}: {error}") from error
        self._left -= count
        self._place = (position, end)
        if not self._left:
            self.header = None
            self.let_go()
            chunk.next_offset = header.base_offset + header.last_offset_delta + 1


class Feed:
    """The place in one partition from which reading goes on. Messages above `item_bytes_max` are left out."""

    __slots__ = ("_cursor", "_item_bytes_max", "partition")

    def __init__(self, partition: Partition, item_bytes_max: int = ITEM_BYTES_MAX) -> None:
        self.partition = partition
        self._item_bytes_max = item_bytes_max
        self._cursor: BatchCursor | None = None

    def next_chunk(self, position: int, *, ttl_ms: int, now_ms: int, wanted: Wanted | None) -> Chunk | None:
        """The next messages from `position` on; None if nothing is new. After an empty chunk, reading goes on."""
        cursor = self._cursor
        if cursor is None:
            if position >= self.partition.last_stable:
                return None
            cursor = self._cursor = self._open(position, wait=False)
        chunk = Chunk(position)
        unpacked_bytes = 0
        while len(chunk.offsets) < CHUNK_RECORDS:
            if cursor.header is None:
                try:
                    is_open = _open_at_once(cursor)
                except BlockingIOError:
                    if chunk.offsets:
                        return chunk
                    raise
                if not is_open:
                    self._cursor = None
                    chunk.next_offset = max(position, cursor.next_offset)
                    return chunk
                unpacked_bytes += cursor.unpacked_bytes
            limit = CHUNK_RECORDS - len(chunk.offsets)
            cursor.take(
                chunk, self.partition.index, start=position, ttl_ms=ttl_ms, now_ms=now_ms, limit=limit, wanted=wanted,
                item_bytes_max=self._item_bytes_max,
            )  # fmt: skip
            if unpacked_bytes > CHUNK_UNPACKED_BYTES or chunk.is_full:
                break
        return chunk

    @property
    def is_huge(self) -> bool:
        """Whether the next batch is one for `prepare_huge`."""
        return self._cursor is not None and self._cursor.is_huge

    @property
    def unpacked_bytes(self) -> int:
        """Bytes of a batch that was unpacked and is not read to its end."""
        return 0 if self._cursor is None else self._cursor.unpacked_bytes

    def prepare(self, position: int) -> None:
        """Read and unpack what `next_chunk` would have to wait for, unless it is huge; to be called in a thread."""
        if self._cursor is None:
            self._cursor = self._open(position, wait=True)
        with contextlib.suppress(BlockingIOError):
            self._unpack(self._cursor, UNPACKED_BY_ANY_BYTES)

    def prepare_huge(self) -> None:
        """Unpack a batch that is huge; to be called in a thread, by one feed at a time."""
        if self._cursor is not None:
            self._unpack(self._cursor, STORED_DECOMPRESSED_BYTES_MAX)

    def _unpack(self, cursor: BatchCursor, limit: int) -> None:
        if cursor.header is None and not cursor.open_batch(limit):
            self._cursor = BatchCursor(b"", cursor.next_offset)

    def forget(self) -> None:
        """Drop everything that was read; reading begins again at a position."""
        if self._cursor is not None:
            self._cursor.let_go()
            self._cursor = None

    def _open(self, position: int, *, wait: bool) -> BatchCursor:
        # The last batch is kept in memory for readers at the end of the log: a message that has just arrived costs no
        # read.
        last = self.partition.last_batch
        if last is not None and last.offset == position:
            return BatchCursor(last.batch, last.next_offset)
        return _open_cursor(self.partition, position, wait=wait)


def _kept(unpacked: Buffer) -> bytes:
    """Unpacked bytes, or the map of memory that they are in, which yields bytes just as well.

    A copy of the large ones that are mapped would hold up all threads.
    """
    if not isinstance(unpacked, memoryview) or not isinstance(unpacked.obj, mmap) or not unpacked:
        return bytes(unpacked)
    mapped, size = unpacked.obj, len(unpacked)
    unpacked.release()
    mapped.resize(size)
    return cast("bytes", mapped)


def _free(payload: bytes | mmap) -> None:
    """Give the memory of a very large batch back in a thread: it takes the system some 50 ms."""
    if isinstance(payload, mmap) and len(payload) > UNPACKED_BY_ANY_BYTES:
        threading.Thread(target=payload.close, name="penstock-free", daemon=True).start()


def _open_at_once(cursor: BatchCursor) -> bool:
    """Go to the next batch, as `open_batch` does. BlockingIOError if a thread has to unpack it."""
    if cursor.is_heavy:
        raise BlockingIOError
    return cursor.open_batch(UNPACKED_AT_ONCE_BYTES)


def _open_cursor(partition: Partition, position: int, *, wait: bool) -> BatchCursor:
    read = partition.read(position, READ_BYTES, end=partition.last_stable, one_batch_at_least=True, wait=wait)
    records = bytes(read.records)
    if not records:
        return BatchCursor(b"", max(position, read.next_offset))
    aborted: tuple[AbortedTransaction, ...] = ()
    if has_transactions(records):
        aborted = tuple(partition.aborted_transactions(read.first_offset, read.next_offset, wait=wait))
    return BatchCursor(records, read.next_offset, aborted)
