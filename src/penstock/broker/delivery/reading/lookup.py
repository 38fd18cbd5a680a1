"""Messages of a partition looked up by their offsets: to be sent again, or put into a dead-letter topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from penstock.broker.delivery.reading.feed import READ_BYTES, BatchCursor
from penstock.broker.delivery.reading.record_encoder import CHUNK_ITEM_BYTES, ITEM_BYTES_MAX, Chunk, Wanted
from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedTransaction
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX


class Found(NamedTuple):
    """Item and key by offset, how many of the other messages had expired, and the offsets that were not looked at."""

    messages: dict[int, tuple[bytes, bytes | None]]
    expired: int
    unread: list[int]


def find(
    partition: Partition,
    offsets: Collection[int],
    *,
    ttl_ms: int,
    now_ms: int,
    item_bytes_max: int = ITEM_BYTES_MAX,
    limit: int = STORED_DECOMPRESSED_BYTES_MAX,
) -> Found:
    """Read messages by their offsets, in a thread: at least one, and no more when they are as much as a chunk.

    Messages that are no longer in the log, or too large, are missing. BlockingIOError if a batch unpacks to more than a
    lower `limit`.
    """
    found = Found({}, 0, [])
    wanted = set(offsets)
    left = sorted(wanted)
    size = 0
    while left:
        if size > CHUNK_ITEM_BYTES:
            return found._replace(unread=left)
        position = max(left[0], partition.log_start)
        try:
            read = partition.read(position, READ_BYTES, end=partition.last_stable, one_batch_at_least=True, wait=True)
        except KafkaError as error:
            if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                break
            raise
        chunk = read_chunk(
            bytes(read.records), partition.index, start=position, next_offset=read.next_offset, ttl_ms=ttl_ms,
            now_ms=now_ms, wanted=wanted.__contains__, item_bytes_max=item_bytes_max, limit=limit,
        )  # fmt: skip
        found = found._replace(expired=found.expired + chunk.expired)
        size += chunk.item_bytes
        for offset, item, key in zip(chunk.offsets, chunk.items, chunk.keys, strict=True):
            found.messages[offset] = (item, key)
        if chunk.next_offset <= position:
            break
        left = [offset for offset in left if offset >= chunk.next_offset]
    return found


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
    item_bytes_max: int = ITEM_BYTES_MAX,
    limit: int = STORED_DECOMPRESSED_BYTES_MAX,
) -> Chunk:
    """The messages from `start` on of all batches in `records`, until the chunk is full.

    KafkaError CORRUPT_MESSAGE if they do not decode.
    """
    chunk = Chunk(next_offset)
    cursor = BatchCursor(records, next_offset, aborted)
    while cursor.open_batch(limit):
        cursor.take(
            chunk, partition, start=start, ttl_ms=ttl_ms, now_ms=now_ms, wanted=wanted, item_bytes_max=item_bytes_max
        )
        if chunk.is_full:
            return chunk
    chunk.next_offset = next_offset
    return chunk
