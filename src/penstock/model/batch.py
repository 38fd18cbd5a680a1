"""The record batch, magic 2: the unit that travels, is stored, and is served, always as the same bytes.

    byte  0   8 base offset            int64    stamped by the log
          8   4 batch length           int32    bytes after this field
         12   4 partition leader epoch int32    stamped by the log, outside the CRC
         16   1 magic                  int8     2
         17   4 CRC-32C                uint32   of everything from byte 21 on
         21   2 attributes             int16    0-2 codec, 3 append time, 4 transactional, 5 control, 6 delete horizon
         23   4 last offset delta      int32
         27   8 base timestamp         int64    (the delete horizon, when bit 6 is set)
         35   8 max timestamp          int64
         43   8 producer id            int64
         51   2 producer epoch         int16
         53   4 base sequence          int32
         57   4 record count           int32
         61   … records, compressed as a whole if a codec is set

`BatchHeader` is the parsed header; `check_batch` is the check of a client's batch on the hot path; `stamp` writes the
fields that only the log knows. Records inside are handled by `model.records`.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

from crc32c import crc32c

from penstock.model.errors import ErrorCode, KafkaError

Buffer = bytes | bytearray | memoryview

HEADER_BYTES = 61
LOG_OVERHEAD_BYTES = 12  # base offset and batch length
CRC_START = 21
MAGIC_OFFSET = 16
OLD_MESSAGE_BYTES_MIN = 26  # of magic 0, whose header was shorter

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

CODEC_COUNT = 5  # none, gzip, snappy, lz4, zstd
ZSTD = 4

_HEADER = Struct(">qiibIhiqqqhii")
_BASE_AND_LENGTH = Struct(">qi")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")


class BatchHeader(NamedTuple):
    """The fixed part of a batch. A NamedTuple because it is made once per batch on the hot path."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequences wrap at 2^31 - 1, as in Kafka."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON_BIT)


class NotOneBatch(KafkaError):
    """INVALID_RECORD for bytes that are not exactly one batch of magic 2; no log is asked about them."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message or "",)


class UnreadableBatch(KafkaError):
    """CORRUPT_MESSAGE for bytes in which no batch can be found; as in Kafka, the whole request fails with them."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message or "",)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Parse the header at `position`; the caller has made sure that 61 bytes are there."""
    return BatchHeader._make(_HEADER.unpack_from(buffer, position))


def write_header(buffer: bytearray | memoryview, header: BatchHeader, position: int = 0) -> None:
    _HEADER.pack_into(buffer, position, *header)


def write_crc(buffer: bytearray | memoryview, crc: int) -> None:
    _CRC.pack_into(buffer, 17, crc)


def crc_matches(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether the stored CRC is that of the bytes it covers."""
    view = memoryview(buffer)[position + CRC_START : position + header.size_bytes]
    return bool(crc32c(view) == header.crc)


def iter_headers(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches in a trusted region; stops before a partial one."""
    end = len(buffer) if end is None else end
    while position + HEADER_BYTES <= end:
        header = read_header(buffer, position)
        if header.batch_length < HEADER_BYTES - LOG_OVERHEAD_BYTES or position + header.size_bytes > end:
            return
        yield position, header
        position += header.size_bytes


def check_batch(buffer: Buffer) -> BatchHeader:
    """Check that a client's batch may touch a log.

    Exactly one batch, its length, magic, CRC, codec, base offset 0, count = last delta + 1, and a count that the
    bytes could hold. Everything that needs decoding is left to `validation: records`.
    """
    size = len(buffer)
    if size < HEADER_BYTES:
        raise _misshapen(buffer)
    header = BatchHeader._make(_HEADER.unpack_from(buffer))
    base_offset, length, _, magic, crc, attributes, last_delta, _, _, producer_id, epoch, sequence, count = header
    if magic != 2 or length + LOG_OVERHEAD_BYTES != size:
        raise _misshapen(buffer)
    if crc32c(memoryview(buffer)[CRC_START:]) != crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "CRC-32C of the batch does not match")
    if base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"base offset {base_offset} from a client, must be 0")
    codec = attributes & CODEC_MASK
    if codec >= CODEC_COUNT:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown compression codec {codec}")  # as in Kafka
    if attributes & CONTROL_BIT:
        raise KafkaError(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if count < 1 or count != last_delta + 1:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"{count} records do not fit a last offset delta of {last_delta}")
    # The smallest record is 7 bytes (length, attributes, two deltas, key, value, header count).
    if codec == 0 and count * 7 > size - HEADER_BYTES:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"{count} records cannot be in {size} bytes")
    if producer_id >= 0 and (sequence < 0 or epoch < 0):
        raise KafkaError(ErrorCode.INVALID_RECORD, "a producer id without a sequence or epoch")
    return header


def _misshapen(buffer: Buffer) -> KafkaError:
    """The error for bytes that are not exactly one batch of magic 2; INVALID_RECORD where Kafka sees no batch."""
    size = len(buffer)
    stated_size = batch_size_at(buffer, 0)[1] if size >= LOG_OVERHEAD_BYTES else size
    if size >= LOG_OVERHEAD_BYTES and stated_size < OLD_MESSAGE_BYTES_MIN:
        return UnreadableBatch(f"a batch of {stated_size} bytes")
    if size <= MAGIC_OFFSET:
        return NotOneBatch(f"{size} bytes are not a record batch")
    magic = buffer[MAGIC_OFFSET]
    if magic > 2:
        return UnreadableBatch(f"unknown magic {magic}")
    if magic < 2:
        return NotOneBatch(f"magic {magic} is not accepted, only 2")
    if stated_size > size:
        return NotOneBatch(f"a batch of {stated_size} bytes was cut to {size}")
    if stated_size < HEADER_BYTES:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch length {stated_size} in {size} bytes")
    return NotOneBatch("exactly one record batch per partition is allowed")


def stamp(buffer: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Write the two fields that the log decides; both are outside the CRC."""
    _BASE_OFFSET.pack_into(buffer, 0, base_offset)
    _LEADER_EPOCH.pack_into(buffer, 12, leader_epoch)


def stamp_log_append_time(buffer: bytearray | memoryview, attributes: int, now_ms: int) -> None:
    """Set the type bit and max timestamp and renew the CRC, for `message.timestamp.type=LogAppendTime`."""
    _ATTRIBUTES.pack_into(buffer, CRC_START, attributes | LOG_APPEND_TIME_BIT)
    _MAX_TIMESTAMP.pack_into(buffer, 35, now_ms)
    write_crc(buffer, crc32c(memoryview(buffer)[CRC_START:]))


def without_log_append_time(batch: Buffer, header: BatchHeader) -> bytearray:
    """A copy of a batch whose records have their own timestamps again; the CRC is renewed."""
    copy = bytearray(batch)
    _ATTRIBUTES.pack_into(copy, CRC_START, header.attributes & ~LOG_APPEND_TIME_BIT)
    write_crc(copy, crc32c(memoryview(copy)[CRC_START:]))
    return copy


def batch_size_at(buffer: Buffer, position: int) -> tuple[int, int]:
    """Base offset and whole size of the batch at `position`, from its first 12 bytes."""
    base_offset, length = _BASE_AND_LENGTH.unpack_from(buffer, position)
    return base_offset, length + LOG_OVERHEAD_BYTES
