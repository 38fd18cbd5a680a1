"""Record batches (magic 2) by hand, right ones and broken ones.

    base offset 8 | length 4 | leader epoch 4 | magic 1 | crc-32c 4 | attributes 2 | last offset delta 4
    base timestamp 8 | max timestamp 8 | producer id 8 | producer epoch 2 | base sequence 4 | count 4
    records

`length` counts from the leader epoch on and the CRC covers everything after itself. Every header field can be
overridden, and the CRC is computed over what is really written unless it is overridden too.
"""

import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cramjam
from crc32c import crc32c

HEADER_SIZE = 61
PREFIX_SIZE = 12

CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4, CODEC_ZSTD = range(5)
CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
LZ4_INDEPENDENT_BLOCKS = 0x20  # in the fifth byte of a frame
TRANSACTIONAL = 0x10
CONTROL = 0x20

Header = tuple[str, bytes | None]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    key: bytes | None = None
    value: bytes | None = b"value"
    headers: tuple[Header, ...] = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    base_offset: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    body: bytes = field(repr=False)
    crc_is_right: bool

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def records(self) -> list[StoredRecord]:
        return list(_decode_records(self))


def zigzag(value: int) -> bytes:
    """A signed varint, as records use."""
    number = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _length_and_bytes(data: bytes | None) -> bytes:
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def encode_record(record: Record, *, offset_delta: int, timestamp_delta_ms: int) -> bytes:
    body = b"\x00" + zigzag(timestamp_delta_ms) + zigzag(offset_delta)
    body += _length_and_bytes(record.key) + _length_and_bytes(record.value) + zigzag(len(record.headers))
    for name, value in record.headers:
        body += _length_and_bytes(name.encode()) + _length_and_bytes(value)
    return zigzag(len(body)) + body


def encode_records(records: Sequence[Record], base_timestamp_ms: int) -> bytes:
    return b"".join(
        encode_record(
            record,
            offset_delta=delta,
            timestamp_delta_ms=(base_timestamp_ms if record.timestamp_ms is None else record.timestamp_ms)
            - base_timestamp_ms,
        )
        for delta, record in enumerate(records)
    )


def compress(codec: int, data: bytes) -> bytes:
    match codec:
        case 1:
            return bytes(cramjam.gzip.compress(data))
        case 2:
            return bytes(cramjam.snappy.compress_raw(data))
        case 3:
            # Java clients read only blocks that do not depend on the previous one.
            compressor = cramjam.lz4.Compressor(block_linked=False)
            compressor.compress(data)
            return bytes(compressor.finish())
        case 4:
            return bytes(cramjam.zstd.compress(data))
        case _:
            return data


def decompress(codec: int, data: bytes) -> bytes:
    match codec:
        case 1:
            return bytes(cramjam.gzip.decompress(data))
        case 2:
            return _decompress_snappy(data)
        case 3:
            return bytes(cramjam.lz4.decompress(data))
        case 4:
            return bytes(cramjam.zstd.decompress(data))
        case _:
            return data


def _decompress_snappy(data: bytes) -> bytes:
    """Java clients wrap snappy blocks in xerial's framing; librdkafka sends one bare block."""
    if not data.startswith(b"\x82SNAPPY\x00"):
        return bytes(cramjam.snappy.decompress_raw(data))
    position, blocks = 16, []
    while position < len(data):
        (length,) = struct.unpack_from(">i", data, position)
        blocks.append(bytes(cramjam.snappy.decompress_raw(data[position + 4 : position + 4 + length])))
        position += 4 + length
    return b"".join(blocks)


def batch(
    records: Iterable[Record] = (Record(),),
    *,
    base_offset: int = 0,
    length: int | None = None,
    leader_epoch: int = -1,
    magic: int = 2,
    crc: int | None = None,
    codec: int = CODEC_NONE,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp_ms: int | None = None,
    max_timestamp_ms: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int | None = None,
    body: bytes | None = None,
) -> bytes:
    """One batch; `body` replaces the (already compressed) records, the rest replaces header fields."""
    given = list(records)
    times = [record.timestamp_ms for record in given if record.timestamp_ms is not None]
    base_time = base_timestamp_ms if base_timestamp_ms is not None else (times[0] if times else now_ms())
    max_time = max_timestamp_ms if max_timestamp_ms is not None else max([base_time, *times])
    payload = body if body is not None else compress(codec, encode_records(given, base_time))
    checked = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        len(given) - 1 if last_offset_delta is None else last_offset_delta,
        base_time,
        max_time,
        producer_id,
        producer_epoch,
        base_sequence,
        len(given) if count is None else count,
    )
    checked += payload
    checksum = crc32c(checked) if crc is None else crc
    real_length = HEADER_SIZE - PREFIX_SIZE + len(payload)
    prefix = struct.pack(
        ">qiibI", base_offset, real_length if length is None else length, leader_epoch, magic, checksum
    )
    return prefix + checked


def values(*items: bytes | str, **overrides: Any) -> bytes:
    """A batch of keyless records with these values."""
    records = [Record(value=item.encode() if isinstance(item, str) else item) for item in items]
    return batch(records, **overrides)


def idempotent(
    producer_id: int, producer_epoch: int, base_sequence: int, *, count: int = 1, value: bytes = b"value"
) -> bytes:
    return batch(
        [Record(value=value)] * count,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def message_set(magic: int, value: bytes = b"old") -> bytes:
    """One message of the formats before record batches (magic 0 and 1), with its CRC-32 right."""
    times = struct.pack(">q", now_ms()) if magic == 1 else b""
    checked = struct.pack(">bb", magic, 0) + times + struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(checked)) + checked
    return struct.pack(">qi", 0, len(message)) + message


def decode_batches(data: bytes | None) -> list[StoredBatch]:
    """The complete batches at the beginning of `data`; a cut-off one at the end is left out."""
    return list(_iterate_batches(data or b""))


def decode_records(data: bytes | None) -> list[StoredRecord]:
    return [record for stored in decode_batches(data) for record in stored.records]


def _iterate_batches(data: bytes) -> Iterator[StoredBatch]:
    position = 0
    while position + PREFIX_SIZE <= len(data):
        base_offset, length = struct.unpack_from(">qi", data, position)
        end = position + PREFIX_SIZE + length
        if end > len(data):
            return
        epoch, magic, crc = struct.unpack_from(">ibI", data, position + 12)
        header = struct.unpack_from(">hiqqqhii", data, position + 21)
        yield StoredBatch(
            base_offset=base_offset,
            leader_epoch=epoch,
            magic=magic,
            crc=crc,
            attributes=header[0],
            last_offset_delta=header[1],
            base_timestamp_ms=header[2],
            max_timestamp_ms=header[3],
            producer_id=header[4],
            producer_epoch=header[5],
            base_sequence=header[6],
            count=header[7],
            body=data[position + HEADER_SIZE : end],
            crc_is_right=crc == crc32c(data[position + 21 : end]),
        )
        position = end


class _Cursor:
    """Reads the parts of a record one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def signed(self) -> int:
        shift = number = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (number >> 1) ^ -(number & 1)

    def sized(self) -> bytes | None:
        length = self.signed()
        if length < 0:
            return None
        start, self.position = self.position, self.position + length
        return self.data[start : self.position]


def _decode_records(stored: StoredBatch) -> Iterator[StoredRecord]:
    cursor = _Cursor(decompress(stored.codec, stored.body))
    for _ in range(stored.count):
        cursor.signed()
        cursor.position += 1
        timestamp_delta, offset_delta = cursor.signed(), cursor.signed()
        key, value = cursor.sized(), cursor.sized()
        headers = tuple(((cursor.sized() or b"").decode(), cursor.sized()) for _ in range(cursor.signed()))
        appended = bool(stored.attributes & LOG_APPEND_TIME)
        yield StoredRecord(
            offset=stored.base_offset + offset_delta,
            timestamp_ms=stored.max_timestamp_ms if appended else stored.base_timestamp_ms + timestamp_delta,
            key=key,
            value=value,
            headers=headers,
        )
