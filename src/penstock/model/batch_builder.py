"""Builder of record batches: from records, or from the header and some of the records of another batch.

For the broker's own records, for tests and tools, for compaction and for topics with their own
`compression.type`. Batches from clients are never rebuilt unless one of these requires it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CRC_START,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    write_crc,
    write_header,
)
from penstock.model.compression import compress
from penstock.model.record import Headers
from penstock.model.varint import signed_bytes, signed_size

_NULL = signed_bytes(-1)
_NUMBERS_BYTES_MAX = 32  # lengths and deltas of a record, without the length of its value
_SHORT_BYTES = 1 << 13  # a length below it takes two bytes at most, any other five


class NewRecord(NamedTuple):
    """A record to be stored: it has no offset, and the batch's time unless it brings its own."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None


def build_batch(
    records: Iterable[NewRecord],
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    codec: int = 0,
    transactional: bool = False,
    control: bool = False,
    log_append_time: bool = False,
) -> bytearray:
    """One batch of these records; `timestamp` is for those that have none."""
    payload = bytearray()
    base_timestamp = max_timestamp = timestamp
    count = 0
    for record in records:
        record_timestamp = timestamp if record.timestamp is None else record.timestamp
        if count == 0:
            base_timestamp = max_timestamp = record_timestamp
        elif record_timestamp > max_timestamp:
            max_timestamp = record_timestamp
        append_record(payload, record, record_timestamp - base_timestamp, count)
        count += 1
    attributes = codec
    attributes |= LOG_APPEND_TIME_BIT if log_append_time else 0
    attributes |= TRANSACTIONAL_BIT if transactional else 0
    attributes |= CONTROL_BIT if control else 0
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )
    return assemble_batch(header, payload)


def assemble_batch(header: BatchHeader, payload: Buffer) -> bytearray:
    """A batch with this header over `payload`, which is compressed by the header's codec; length and CRC
    are renewed.
    """
    body = compress(header.codec, payload)
    batch = bytearray(HEADER_BYTES + len(body))
    batch[HEADER_BYTES:] = body
    write_header(batch, header._replace(batch_length=len(batch) - LOG_OVERHEAD_BYTES))
    write_crc(batch, crc32c(memoryview(batch)[CRC_START:]))
    return batch


def repack(payload: Buffer, header: BatchHeader, codec: int) -> bytearray:
    """The same (decompressed) records under another codec, as a topic's `compression.type` requires."""
    return assemble_batch(header._replace(attributes=header.attributes & ~CODEC_MASK | codec), payload)


def append_record(payload: bytearray, record: NewRecord, timestamp_delta: int, offset_delta: int) -> None:
    """Append one encoded record."""
    key, value, headers, _ = record
    parts = [
        b"\0",  # attributes: none are defined
        signed_bytes(timestamp_delta),
        signed_bytes(offset_delta),
        _NULL if key is None else signed_bytes(len(key)) + key,
        _NULL if value is None else signed_bytes(len(value)) + value,
        signed_bytes(len(headers)),
    ]
    for name, content in headers:
        encoded = name.encode("utf-8", "surrogateescape")
        parts += [signed_bytes(len(encoded)), encoded]
        parts.append(_NULL if content is None else signed_bytes(len(content)) + content)
    body = b"".join(parts)
    payload += signed_bytes(len(body))
    payload += body


def record_bytes_max(record: NewRecord) -> int:
    """The most bytes that `append_record` adds, for filling batches."""
    key, value, headers, _ = record
    value_bytes = len(value) if value else 0
    size = _NUMBERS_BYTES_MAX + len(key or b"") + value_bytes + signed_size(value_bytes)
    if headers:
        size += sum([_header_bytes_max(name, content) for name, content in headers])
    return size


def _header_bytes_max(name: str, content: bytes | None) -> int:
    size = len(name) if name.isascii() else len(name.encode("utf-8", "surrogateescape"))
    if content:
        size += len(content)
    return size + (4 if size < _SHORT_BYTES else 10)
