"""Encoder of records as items of DATA frames: every record is decoded and encoded once. No I/O.

Expired messages, whose time to live since their timestamp is over, are left out. The time to live is the smaller of
the topic's `message.ttl.ms` and the message's header `ttl-ms`. Messages that no frame may hold are left out, too: a few
kilobytes of a packed batch may be a record of hundreds of megabytes, or one with millions of headers.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model.batch import BatchHeader
from penstock.model.limits import PUSHED_PROPERTIES_MAX
from penstock.model.plain_records import take_plain
from penstock.model.record import Record
from penstock.model.record_walk import RECORD_BYTES_MIN
from penstock.model.varint import read_signed
from penstock.protocol.push.data import encode_item, item_size
from penstock.protocol.push.properties import encode_properties

TTL_HEADER = b"ttl-ms"
NEVER = 1 << 62  # the expiry of a message that does not expire
ITEM_BYTES_MAX = 1 << 31
"""No limit but that of the format."""
CHUNK_ITEM_BYTES = 1024 * 1024
"""A chunk with more gets no further message."""
LARGE_ITEM_BYTES = 256 * 1024
"""A larger message waits where members have not read too much already (`delivery.unsent`)."""

Wanted = Callable[[int], bool]


class Chunk:
    """Messages of one partition in the order of their offsets, ready to be sent; those before `start` are dealt.

    `next_offset` is that of the first record behind them. `first_timestamp` is that of the first message, -1 if there
    is none. `item_bytes` are those of the messages that are not plain, which none of more than 8 KiB is.
    """

    __slots__ = (
        "expired", "expiries", "first_timestamp", "has_large", "item_bytes", "items", "keys", "next_offset", "offsets",
        "start", "too_large", "too_large_at",
    )  # fmt: skip

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset
        self.offsets: list[int] = []
        self.items: list[bytes] = []
        self.keys: list[bytes | None] = []
        self.expiries: list[int] | None = None  # None: none of these messages expires
        self.expired = 0
        self.item_bytes = 0
        self.has_large = False
        self.too_large = 0
        self.too_large_at = -1  # the offset of the first of them
        self.first_timestamp = -1
        self.start = 0

    @property
    def is_empty(self) -> bool:
        return self.start >= len(self.offsets)

    @property
    def is_full(self) -> bool:
        return self.item_bytes > CHUNK_ITEM_BYTES

    def leave_out(self, offset: int) -> None:
        """Note a message that is too large for a frame."""
        if not self.too_large:
            self.too_large_at = offset
        self.too_large += 1

    def drop_expired(self, now_ms: int) -> int:
        """Leave out messages that have expired since they were read. Returns how many."""
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


class RecordEncoder:
    """Walks over the records of batches and fills a chunk with those from `start` on that are wanted."""

    def __init__(
        self,
        chunk: Chunk,
        partition: int,
        start: int,
        ttl_ms: int,
        now_ms: int,
        wanted: Wanted | None,
        item_bytes_max: int,
    ) -> None:
        self._chunk = chunk
        self._partition = partition
        self._start = start
        self._ttl_ms = ttl_ms
        self._now_ms = now_ms
        self._wanted = wanted
        self._item_bytes_max = item_bytes_max

    def walk(self, payload: bytes, position: int, size: int, header: BatchHeader, count: int) -> tuple[int, int]:
        """Encode records from `position` on, `count` or until the chunk is full. Returns how many, and where the next
        one begins.
        """
        walked = 0
        if self._ttl_ms < 0 and self._wanted is None and not header.is_log_append_time and self._chunk.expiries is None:
            walked, position = self._take_plain(payload, position, header, count)
            count -= walked
            if not count:
                return walked, position
        chunk, partition, wanted = self._chunk, self._partition, self._wanted
        offsets, items, keys = chunk.offsets, chunk.items, chunk.keys
        base_offset, base_timestamp = header.base_offset, header.base_timestamp
        append_time = header.max_timestamp if header.is_log_append_time else None
        item_bytes_max = self._item_bytes_max
        offset = base_offset - 1
        for _ in range(count):
            walked += 1
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
            if length > item_bytes_max:
                chunk.leave_out(offset)
                position = end
                continue
            key: bytes | None = None
            key_length, position = read_signed(payload, position)
            if key_length >= 0:
                key = payload[position : position + key_length]
                position += key_length
            value_length, position = read_signed(payload, position)
            value: bytes | memoryview | None = None
            if value_length >= 0:
                value = _part(payload, position, value_length)
                position += value_length
            if position >= end:
                raise ValueError("a key or value runs over its record")
            timestamp = base_timestamp + delta if append_time is None else append_time
            properties: bytes | None = b""
            ttl_ms = self._ttl_ms
            if payload[position]:
                properties, ttl_ms = _properties(payload, position, end, ttl_ms)
            if properties is None or item_size(key, properties, value) > item_bytes_max:
                chunk.leave_out(offset)
                position = end
                continue
            if ttl_ms >= 0 and not self._note_expiry(timestamp, ttl_ms):
                position = end
                continue
            if ttl_ms < 0 and chunk.expiries is not None:
                chunk.expiries.append(NEVER)
            item = encode_item(partition, 1, key, offset, timestamp, properties, value)
            offsets.append(offset)
            items.append(item)
            keys.append(key)
            chunk.item_bytes += len(item)
            if chunk.first_timestamp < 0:
                chunk.first_timestamp = timestamp
            position = end
            if len(item) > LARGE_ITEM_BYTES:
                chunk.has_large = True
            if chunk.item_bytes > CHUNK_ITEM_BYTES:
                break
        chunk.next_offset = offset + 1
        return walked, position

    def _take_plain(self, payload: bytes, position: int, header: BatchHeader, count: int) -> tuple[int, int]:
        """Encode the records without headers at the beginning of a batch, which most are. Returns how many."""
        chunk, partition, start = self._chunk, self._partition, self._start
        taken: list[Record] = []
        position = take_plain(payload, position, count, header.base_offset, header.base_timestamp, taken)
        if not taken:
            return 0, position
        wanted = taken if taken[0].offset >= start else [record for record in taken if record.offset >= start]
        for offset, timestamp, key, value, _ in wanted:
            chunk.offsets.append(offset)
            chunk.items.append(encode_item(partition, 1, key, offset, timestamp, b"", value))
            chunk.keys.append(key)
        if chunk.first_timestamp < 0 and wanted:
            chunk.first_timestamp = wanted[0].timestamp
        chunk.next_offset = taken[-1].offset + 1
        return len(taken), position

    def _note_expiry(self, timestamp: int, ttl_ms: int) -> bool:
        """Note when a message expires. Returns whether it is still to be sent."""
        expiry = timestamp + ttl_ms if timestamp >= 0 else NEVER
        if expiry <= self._now_ms:
            self._chunk.expired += 1
            return False
        if self._chunk.expiries is None:
            self._chunk.expiries = [NEVER] * len(self._chunk.offsets)
        self._chunk.expiries.append(expiry)
        return True


def _part(payload: bytes, position: int, size: int) -> bytes | memoryview:
    """Bytes of a payload; large ones are not copied, since encoding does that."""
    if size > LARGE_ITEM_BYTES:
        return memoryview(payload)[position : position + size]
    return payload[position : position + size]


def _properties(payload: bytes, position: int, end: int, ttl_ms: int) -> tuple[bytes | None, int]:
    """Headers of a record as properties, None if they are too many, and the resulting time to live."""
    count, position = read_signed(payload, position)
    if not 0 <= count <= end - position:
        raise ValueError(f"{count} headers")
    if count > PUSHED_PROPERTIES_MAX:
        return None, ttl_ms
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
    """The smaller of both times to live; a header that is not a number of milliseconds is ignored."""
    if not text.isdigit() or len(text) > 18:
        return ttl_ms
    own = int(text)
    return own if ttl_ms < 0 else min(ttl_ms, own)
