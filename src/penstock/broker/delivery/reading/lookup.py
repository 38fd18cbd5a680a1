"""Messages of a partition looked up by their offsets: to be sent again, or put into a dead-letter topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from penstock.broker.delivery.reading.feed import READ_BYTES, BatchCursor
from penstock.broker.delivery.reading.record_encoder import Chunk, Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedTransaction
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX


class Found(NamedTuple):
    """Item and key by offset, and how many of the other messages had expired."""

    messages: dict[int, tuple[bytes, bytes | None]]
    expired: int


def find(
    partition: Partition,
    offsets: Collection[int],
    *,
    ttl_ms: int,
    now_ms: int,
    limit: int = STORED_DECOMPRESSED_BYTES_MAX,
) -> Found:
    """Read messages by their offsets, in a thread. Messages that are no longer in the log are missing.

    BlockingIOError if a batch unpacks to more than a lower `limit`.
    """
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
            now_ms=now_ms, wanted=wanted.__contains__, limit=limit,
        )  # fmt: skip
        expired += chunk.expired
        for offset, item, key in zip(chunk.offsets, chunk.items, chunk.keys, strict=True):
            messages[offset] = (item, key)
        if read.next_offset <= position:
            break
        left = [offset for offset in left if offset >= read.next_offset]
    return Found(messages, expired)


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
    limit: int = STORED_DECOMPRESSED_BYTES_MAX,
) -> Chunk:
    """The messages from `start` on of all batches in `records`. KafkaError CORRUPT_MESSAGE if they do not decode."""
    chunk = Chunk(next_offset)
    cursor = BatchCursor(records, next_offset, aborted)
    while cursor.open_batch(limit):
        cursor.take(chunk, partition, start=start, ttl_ms=ttl_ms, now_ms=now_ms, wanted=wanted)
    chunk.next_offset = next_offset
    return chunk
