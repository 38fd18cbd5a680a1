"""Records out of batches, as items that are ready to be sent: every record is decoded and encoded once.

Markers and what aborted transactions have written are left out, and so is what has expired: a message whose time to
live (the topic's `message.ttl.ms` or the header `ttl-ms`, the smaller) is over, counted from its timestamp. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.model.batch import HEADER_BYTES, BatchHeader, iter_headers
from penstock.model.compression import decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX
from penstock.model.plain_records import take_plain
from penstock.model.record import Record
from penstock.model.record_walk import RECORD_BYTES_MIN
from penstock.model.varint import read_signed
from penstock.protocol.push.data import encode_item
from penstock.protocol.push.properties import encode_properties
from penstock.storage.interface import AbortedTransaction

TTL_HEADER = b"ttl-ms"
NEVER = 1 << 62
UNPACKED_AT_ONCE_BYTES = 16 * 1024


class Chunk:
    """Messages of one partition in the order of their offsets, some of which may be dealt already (`start`)."""

    __slots__ = ("expired", "expiries", "first_timestamp", "items", "keys", "next_offset", "offsets",
                 "start")  # fmt: skip

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset  # of the first record behind it
        self.offsets: list[int] = []
        self.items: list[bytes] = []
        self.keys: list[bytes | None] = []
        self.expiries: list[int] | None = None  # None: none of them expires
        self.expired = 0
        self.first_timestamp = -1
        self.start = 0

    @property
    def is_empty(self) -> bool:
        return self.start >= len(self.offsets)

    def drop_expired(self, now_ms: int) -> int:
        """What has expired since it was read; how many."""
        if self.expiries is None:
            return 0
        kept = [index for index in range(self.start, len(self.offsets)) if self.expiries[index] > now_ms]
        dropped = len(self.offsets) - self.start - len(kept)
        if dropped:
            self.offsets = [self.offsets[index] for index in kept]
            self.items = [self.items[index] for index in kept]
            self.keys = [self.keys[index] for index in kept]
            self.expiries = [self.expiries[index] for index in kept]
            self.start = 0
        return dropped


Wanted = Callable[[int], bool]


class Cursor:
    """Walks over the batches of a slice of a log, a bounded number of records at a time.

    KafkaError CORRUPT_MESSAGE where they do not decode.
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
    def size_bytes(self) -> int:
        return len(self._records) + (len(self._payload) if self._payload is not self._records else 0)

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
            if header.is_control:
                self._aborted.ended(header)
                continue
            if header.is_transactional and self._aborted.covers(header):
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
        reader = _Reader(chunk, partition, start, ttl_ms, now_ms, wanted)
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
    cursor = Cursor(records, next_offset, aborted)
    while cursor.open_batch():
        cursor.take(chunk, partition, start=start, ttl_ms=ttl_ms, now_ms=now_ms, wanted=wanted)
    chunk.next_offset = next_offset
    return chunk


def has_transactions(records: bytes) -> bool:
    return any(header.is_transactional or header.is_control for _, header in iter_headers(records))


class AbortedFilter:
    """Which batches belong to a transaction that was aborted, as consumers of committed records find out."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda one: one.first_offset)
        self._producers: set[int] = set()

    def covers(self, header: BatchHeader) -> bool:
        while self._coming and self._coming[0].first_offset <= header.base_offset + header.last_offset_delta:
            self._producers.add(self._coming.pop(0).producer_id)
        return header.producer_id in self._producers

    def ended(self, header: BatchHeader) -> None:
        self.covers(header)
        self._producers.discard(header.producer_id)


class _Reader:
    """Walks over the records of batches and fills a chunk."""

    def __init__(
        self, chunk: Chunk, partition: int, start: int, ttl_ms: int, now_ms: int, wanted: Wanted | None
    ) -> None:
        self._chunk = chunk
        self._partition = partition
        self._start = start
        self._ttl_ms = ttl_ms
        self._now_ms = now_ms
        self._wanted = wanted

    def walk(self, payload: bytes, position: int, size: int, header: BatchHeader, count: int) -> int:
        """So many records from `position` on; where the next one begins."""
        if self._ttl_ms < 0 and self._wanted is None and not header.is_log_append_time and self._chunk.expiries is None:
            plain, position = self._take_plain(payload, position, header, count)
            count -= plain
            if not count:
                return position
        chunk, partition, wanted = self._chunk, self._partition, self._wanted
        offsets, items, keys = chunk.offsets, chunk.items, chunk.keys
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        append_time = header.max_timestamp if header.is_log_append_time else None
        offset = base_offset - 1
        for _ in range(count):
            length, position = read_signed(payload, position)
            end = position + length
            if length < RECORD_BYTES_MIN - 1 or end > size:
                raise ValueError(f"a record of {length} bytes before byte {position} of {size}")
            delta, position = read_signed(payload, position + 1)
            offset_delta, position = read_signed(payload, position)
            offset = base_offset + offset_delta
            if offset < self._start or (wanted is not None and not wanted(offset)):
                position = end
                continue
            key: bytes | None = None
            key_length, position = read_signed(payload, position)
            if key_length >= 0:
                key = payload[position : position + key_length]
                position += key_length
            value_length, position = read_signed(payload, position)
            value: bytes | None = None
            if value_length >= 0:
                value = payload[position : position + value_length]
                position += value_length
            if position >= end:
                raise ValueError("a key or value runs over its record")
            timestamp = base_timestamp + delta if append_time is None else append_time
            properties, ttl_ms = b"", self._ttl_ms
            if payload[position]:
                properties, ttl_ms = _properties(payload, position, end, ttl_ms)
            if ttl_ms >= 0 and not self._note_expiry(timestamp, ttl_ms):
                position = end
                continue
            if ttl_ms < 0 and chunk.expiries is not None:
                chunk.expiries.append(NEVER)
            offsets.append(offset)
            items.append(encode_item(partition, 1, key, offset, timestamp, properties, value))
            keys.append(key)
            if chunk.first_timestamp < 0:
                chunk.first_timestamp = timestamp
            position = end
        chunk.next_offset = offset + 1
        return position

    def _take_plain(self, payload: bytes, position: int, header: BatchHeader, count: int) -> tuple[int, int]:
        """The quick way, for records without headers at the beginning of a batch, which are most."""
        chunk, partition, start = self._chunk, self._partition, self._start
        taken: list[Record] = []
        position = take_plain(payload, position, count, header.base_offset, header.base_timestamp, taken)
        if not taken:
            return 0, position
        for offset, timestamp, key, value, _ in taken:
            if offset >= start:
                chunk.offsets.append(offset)
                chunk.items.append(encode_item(partition, 1, key, offset, timestamp, b"", value))
                chunk.keys.append(key)
        if chunk.first_timestamp < 0:
            chunk.first_timestamp = taken[-1].timestamp
        chunk.next_offset = taken[-1].offset + 1
        return len(taken), position

    def _note_expiry(self, timestamp: int, ttl_ms: int) -> bool:
        """Whether it is still to be sent."""
        expiry = timestamp + ttl_ms if timestamp >= 0 else NEVER
        if expiry <= self._now_ms:
            self._chunk.expired += 1
            return False
        if self._chunk.expiries is None:
            self._chunk.expiries = [NEVER] * len(self._chunk.offsets)
        self._chunk.expiries.append(expiry)
        return True


def _properties(payload: bytes, position: int, end: int, ttl_ms: int) -> tuple[bytes, int]:
    """The headers as properties, and the smaller of both times to live."""
    count, position = read_signed(payload, position)
    if not 0 <= count <= end - position:
        raise ValueError(f"{count} headers")
    found: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        length, position = read_signed(payload, position)
        name = payload[position : position + length]
        length, position = read_signed(payload, position + length)
        value = payload[position : position + length] if length >= 0 else None
        position += max(0, length)
        if position > end:
            raise ValueError("a header runs over its record")
        if name == TTL_HEADER and value is not None:
            ttl_ms = _smaller(ttl_ms, value)
        found.append((name, value))
    return encode_properties(tuple(found)), ttl_ms


def _smaller(ttl_ms: int, text: bytes) -> int:
    """What is no number of milliseconds says nothing."""
    if not text.isdigit() or len(text) > 18:
        return ttl_ms
    own = int(text)
    return own if ttl_ms < 0 else min(ttl_ms, own)
