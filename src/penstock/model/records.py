"""The records inside a batch: decoded on request, never on the way in or out.

    length varint | attributes int8 | timestamp delta varint | offset delta varint |
    key length varint | key | value length varint | value | header count varint |
    { name length varint | name | value length varint | value }…

A length of -1 is null. `scan_records` walks the bytes and knows where each record lies; `iter_records` makes
values of them; `check_records` is the whole of `validation: records`; `first_record_since` and
`latest_record_from` look for times. All of them take untrusted bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, iter_headers
from penstock.model.compression import decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CHECKED_STEPS_MAX, NAMED_BYTES_MAX, STORED_DECOMPRESSED_BYTES_MAX
from penstock.model.plain_records import take_plain
from penstock.model.record import Headers, Record
from penstock.model.record_walk import (
    RECORD_BYTES_MIN,
    STEPS_MAX,
    first_since,
    latest_from,
    place_of,
    sound_steps,
)
from penstock.model.varint import read_signed


class RecordSpan(NamedTuple):
    """Where one record lies in the (decompressed) bytes of its batch, and what deciding about it needs."""

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value_start: int
    value_end: int  # -1: the value is null (a tombstone)
    headers_start: int

    @property
    def is_tombstone(self) -> bool:
        return self.value_end < 0


class InvalidRecords(KafkaError):
    """INVALID_RECORD for a whole batch, with the index and the reason of each bad record that was found."""

    def __init__(self, bad: Sequence[tuple[int, str]], message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)
        self.bad = tuple(bad)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.bad, self.message or "")


def records_payload(
    batch: Buffer, header: BatchHeader, position: int = 0, *, limit: int = STORED_DECOMPRESSED_BYTES_MAX
) -> Buffer:
    """The records of the batch at `position`, decompressed if they were compressed."""
    body = memoryview(batch)[position + HEADER_BYTES : position + header.size_bytes]
    return decompress(header.codec, body, limit)


def scan_records(payload: Buffer, count: int) -> Iterator[RecordSpan]:
    """Each record's place. ValueError at the first that does not decode, or if bytes are left over."""
    position = 0
    size = len(payload)
    for _ in range(count):
        span = _scan_record(payload, position, size)
        yield span
        position = span.end
    _check_end(payload, position)


def _check_end(payload: Buffer, position: int) -> None:
    if position != len(payload):
        raise ValueError(f"{len(payload) - position} bytes after the last record")


def _scan_record(payload: Buffer, start: int, size: int) -> RecordSpan:
    length, position = read_signed(payload, start)
    end = position + length
    if length < RECORD_BYTES_MIN - 1 or end > size:
        raise ValueError(f"a record of {length} bytes at byte {start} of {size}")
    timestamp_delta, position = read_signed(payload, position + 1)
    offset_delta, position = read_signed(payload, position)
    key_length, position = read_signed(payload, position)
    key = None
    if key_length >= 0:
        if position + key_length > end:
            raise ValueError(f"a key of {key_length} bytes runs over its record")
        key = bytes(payload[position : position + key_length])
        position += key_length
    elif key_length != -1:
        raise ValueError(f"a key of {key_length} bytes")
    value_length, value_start = read_signed(payload, position)
    if value_length < -1 or value_start + value_length > end:
        raise ValueError(f"a value of {value_length} bytes does not fit its record")
    value_end = value_start + value_length if value_length >= 0 else -1
    headers_start = max(value_start, value_end)
    _skip_headers(payload, headers_start, end)
    return RecordSpan(start, end, timestamp_delta, offset_delta, key, value_start, value_end, headers_start)


def _skip_headers(payload: Buffer, position: int, end: int) -> None:
    """Walk over the headers: they must end exactly where the record does."""
    count, position = read_signed(payload, position)
    if count < 0 or count > end - position:
        raise ValueError(f"{count} headers in {end - position} bytes")
    for _ in range(count):
        name_length, position = read_signed(payload, position)
        if name_length < 0 or position + name_length > end:
            raise ValueError(f"a header name of {name_length} bytes")
        value_length, position = read_signed(payload, position + name_length)
        if value_length < -1 or position + value_length > end:
            raise ValueError(f"a header value of {value_length} bytes")
        position += max(0, value_length)
    if position != end:
        raise ValueError(f"a record ends at byte {position} instead of {end}")


def read_headers(payload: Buffer, position: int) -> Headers:
    """The headers at `position`, which `scan_records` has walked over. Names that are not UTF-8 keep their bytes."""
    count, position = read_signed(payload, position)
    headers = []
    for _ in range(count):
        length, position = read_signed(payload, position)
        name = bytes(payload[position : position + length]).decode("utf-8", "surrogateescape")
        length, position = read_signed(payload, position + length)
        value = bytes(payload[position : position + length]) if length >= 0 else None
        position += max(0, length)
        headers.append((name, value))
    return tuple(headers)


def record_timestamp(header: BatchHeader, span: RecordSpan) -> int:
    """LogAppendTime batches have one timestamp for all their records."""
    return header.max_timestamp if header.is_log_append_time else header.base_timestamp + span.timestamp_delta


def batch_records(
    batch: Buffer, header: BatchHeader, position: int = 0, *, limit: int = STORED_DECOMPRESSED_BYTES_MAX
) -> list[Record]:
    """The records of one batch. KafkaError CORRUPT_MESSAGE where they do not decode."""
    payload = bytes(records_payload(batch, header, position, limit=limit))
    records: list[Record] = []
    at = 0
    try:
        while True:
            if not header.is_log_append_time:
                at = take_plain(payload, at, header.record_count, header.base_offset, header.base_timestamp, records)
            if len(records) >= header.record_count:
                break
            span = _scan_record(payload, at, len(payload))
            records.append(_decoded(payload, header, span))
            at = span.end
        _check_end(payload, at)
    except ValueError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    return records


def _decoded(payload: bytes, header: BatchHeader, span: RecordSpan) -> Record:
    value = None if span.value_end < 0 else payload[span.value_start : span.value_end]
    headers = read_headers(payload, span.headers_start) if payload[span.headers_start] else ()
    offset, timestamp = header.base_offset + span.offset_delta, record_timestamp(header, span)
    return Record(offset, timestamp, span.key, value, headers)


def record_at(batch: Buffer, header: BatchHeader, offset: int) -> Record | None:
    """The record with this offset, if the batch has one. Those before it are stepped over, not decoded."""
    payload = bytes(records_payload(batch, header))
    try:
        start = place_of(payload, header, offset)
        return None if start is None else _decoded(payload, header, _scan_record(payload, start, len(payload)))
    except ValueError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None


def records_from(
    batch: Buffer, header: BatchHeader, start: int, count: int, bytes_max: int, *, limit: int
) -> list[Record]:
    """Up to `count` records at offset `start` or above; no more once they have `bytes_max` bytes together."""
    payload = bytes(records_payload(batch, header, limit=limit))
    found: list[Record] = []
    size = 0
    try:
        for span in scan_records(payload, header.record_count):
            if header.base_offset + span.offset_delta < start:
                continue
            found.append(_decoded(payload, header, span))
            size += span.end - span.start
            if len(found) >= count or size >= bytes_max:
                break
    except ValueError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    return found


def iter_records(buffer: Buffer, *, limit: int = STORED_DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of all whole batches in `buffer`, but for control batches, which hold no data of users."""
    for position, header in iter_headers(buffer):
        if not header.is_control:
            yield from batch_records(buffer, header, position, limit=limit)


def first_record_since(
    batch: Buffer, header: BatchHeader, timestamp_ms: int, start: int, end: int, *, limit: int
) -> tuple[int, int] | None:
    """Timestamp and offset of the first record in [start, end) that is not older than `timestamp_ms`."""
    try:
        return first_since(records_payload(batch, header, limit=limit), header, timestamp_ms, start, end)
    except ValueError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None


def latest_record_from(batch: Buffer, header: BatchHeader, start: int, *, limit: int) -> int:
    """The largest timestamp of the records at offset `start` or above; -1 if there are none."""
    try:
        return latest_from(records_payload(batch, header, limit=limit), header, start)
    except ValueError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None


def check_records(payload: Buffer, header: BatchHeader, *, compacted: bool) -> None:
    """Every record decodes, offset deltas are 0 to n - 1, lengths are exact, and compacted topics get keys.

    Raises InvalidRecords with the bad records, or with none where they do not decode, or would take long to find.
    """
    count, is_long = header.record_count, len(payload) > NAMED_BYTES_MAX
    if is_long and count > CHECKED_STEPS_MAX:
        text = (
            f"a batch of {count} records; at most {CHECKED_STEPS_MAX} of one batch are checked here, send smaller ones"
        )
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text)
    if sound_steps(payload, count, keyed=compacted, steps_max=CHECKED_STEPS_MAX if is_long else STEPS_MAX):
        return
    if is_long:
        text = f"One or more records have been rejected, or the batch has more than {CHECKED_STEPS_MAX} headers"
        raise InvalidRecords([], text)
    bad: list[tuple[int, str]] = []
    index = 0
    try:
        for span in scan_records(payload, count):
            if span.offset_delta != index:
                bad.append((index, f"offset delta {span.offset_delta} instead of {index}"))
            elif compacted and span.key is None:
                bad.append((index, "Compacted topic cannot accept message without key."))
            index += 1
    except ValueError as error:
        raise InvalidRecords([], str(error)) from None  # as in Kafka: where one does not decode, none is named
    if bad:
        raise InvalidRecords(bad, "One or more records have been rejected")
