"""Committed records of one partition, read forwards: from the page cache, or in a thread.

The loop reads what is cached and unpacks what is small. Anything else raises BlockingIOError: then `prepare` has to be
called in a thread, and nothing else meanwhile.
"""

from __future__ import annotations

from penstock.broker.delivery.reading.batch_cursor import BatchCursor
from penstock.broker.delivery.reading.record_encoder import Chunk, Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedTransaction, has_transactions

READ_BYTES = 64 * 1024
CHUNK_RECORDS = 200
"""Records decoded at a time: about half a millisecond."""


class Feed:
    """The place in one partition from which reading goes on."""

    __slots__ = ("_cursor", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self._cursor: BatchCursor | None = None

    def next_chunk(self, position: int, *, ttl_ms: int, now_ms: int, wanted: Wanted | None) -> Chunk | None:
        """The next messages from `position` on; perhaps none, behind which reading goes on; None if nothing is new."""
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
        """In a thread: do what `next_chunk` would have to wait for."""
        if self._cursor is None:
            self._cursor = self._open(position, wait=True)
        if self._cursor.header is None and not self._cursor.open_batch():
            self._cursor = BatchCursor(b"", self._cursor.next_offset)

    def forget(self) -> None:
        """Drop what was read; reading begins again at a position."""
        self._cursor = None

    def _open(self, position: int, *, wait: bool) -> BatchCursor:
        # The last batch is kept in memory for readers that wait for it: a message that has just come costs no read.
        tail = self.partition.tail
        if tail is not None and tail.offset == position:
            return BatchCursor(tail.batch, tail.next_offset)
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
