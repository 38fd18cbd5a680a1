"""What a subscription reads of one partition: committed records, from the page cache or in a thread.

The loop reads what is cached and unpacks what is small. The rest raises BlockingIOError: then `prepare` has to be
called in a thread, and nothing else meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from penstock.broker.delivery.reading.batch_cursor import Cursor, read_chunk
from penstock.broker.delivery.reading.chunk import Chunk
from penstock.broker.delivery.reading.record_encoder import Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedTransaction, has_transactions
from penstock.model.errors import ErrorCode, KafkaError

READ_BYTES = 64 * 1024
CHUNK_RECORDS = 200
"""Records decoded at a time: about half a millisecond."""


class Found(NamedTuple):
    """Messages that were looked for: item and key by offset, and how many of the others had expired."""

    messages: dict[int, tuple[bytes, bytes | None]]
    expired: int


class Feed:
    """One partition, read forwards."""

    __slots__ = ("_cursor", "chunk", "is_preparing", "partition", "stuck_until_ms")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.chunk: Chunk | None = None  # read and not all dealt
        self._cursor: Cursor | None = None
        self.is_preparing = False
        self.stuck_until_ms = 0  # it could not be read: not before this

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
        """In a thread: what `next_chunk` would wait for."""
        if self._cursor is None:
            self._cursor = self._open(position, wait=True)
        if self._cursor.header is None and not self._cursor.open_batch():
            next_offset = self._cursor.next_offset
            self._cursor = Cursor(b"", next_offset)

    def forget(self) -> None:
        """Reading begins anew at a position."""
        self._cursor = self.chunk = None

    def save_memory(self) -> None:
        if self._cursor is not None or self.chunk is not None:
            self.forget()

    def _open(self, position: int, *, wait: bool) -> Cursor:
        tail = self.partition.tail
        if tail is not None and tail.offset == position:
            return Cursor(tail.batch, tail.next_offset)
        return open_cursor(self.partition, position, wait=wait)


def open_cursor(partition: Partition, position: int, *, wait: bool) -> Cursor:
    read = partition.read(position, READ_BYTES, end=partition.last_stable, one_batch_at_least=True, wait=wait)
    records = bytes(read.records)
    if not records:
        return Cursor(b"", max(position, read.next_offset))
    aborted: tuple[AbortedTransaction, ...] = ()
    if has_transactions(records):
        aborted = tuple(partition.aborted_transactions(read.first_offset, read.next_offset, wait=wait))
    return Cursor(records, read.next_offset, aborted)


def find(partition: Partition, offsets: Collection[int], *, ttl_ms: int, now_ms: int) -> Found:
    """In a thread: messages by their offsets. Those that are not in the log any more are missing."""
    messages: dict[int, tuple[bytes, bytes | None]] = {}
    wanted = set(offsets)
    left = sorted(wanted)
    expired = 0
    while left:
        position = max(left[0], partition.log_start)
        try:
            read = partition.read(position, READ_BYTES, end=partition.last_stable, one_batch_at_least=True, wait=True)
        except KafkaError as error:
            if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                break
            raise
        chunk = read_chunk(
            bytes(read.records), partition.index, start=position, next_offset=read.next_offset, ttl_ms=ttl_ms,
            now_ms=now_ms, wanted=wanted.__contains__,
        )  # fmt: skip
        expired += chunk.expired
        for offset, item, key in zip(chunk.offsets, chunk.items, chunk.keys, strict=True):
            messages[offset] = (item, key)
        if read.next_offset <= position:
            break
        left = [offset for offset in left if offset >= read.next_offset]
    return Found(messages, expired)
