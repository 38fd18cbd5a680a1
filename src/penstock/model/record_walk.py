"""Tight loops over the records of a batch: numbers read in place, no object per record.

They answer questions about whole batches: whether all records are valid, which is the first at or after a time. The
reason why a record is invalid is found by `model.records`, which takes four times as long. Bytes are not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.batch import BatchHeader, Buffer
from penstock.model.varint import read_signed

RECORD_BYTES_MIN = 7
STEPS_MAX = 1 << 62


def sound_steps(payload: Buffer, count: int, *, keyed: bool, steps_max: int = STEPS_MAX) -> int:
    """The number of records and headers if all of them are valid; 0 if not, or if they are more than `steps_max`.

    Valid means that each decodes, offset deltas count from 0, lengths are exact, nothing is left over, and with `keyed`
    each has a key.
    """
    position, size, steps = 0, len(payload), count
    shortest_key = 0 if keyed else -1
    try:
        if steps > steps_max:
            return 0
        for index in range(count):
            length, position = read_signed(payload, position)
            end = position + length
            if length < RECORD_BYTES_MIN - 1 or end > size:
                return 0
            position += 1  # attributes: none are defined
            _, position = (0, position + 1) if payload[position] < 0x80 else read_signed(payload, position)
            offset_delta, position = read_signed(payload, position)
            key_length, position = read_signed(payload, position)
            if offset_delta != index or key_length < shortest_key:
                return 0
            value_length, position = read_signed(payload, position + key_length if key_length > 0 else position)
            if value_length < -1:
                return 0
            if value_length > 0:
                position += value_length
            if position != end - 1 or payload[position]:
                headers = _sound_headers(payload, position, end, steps_max - steps)
                if headers < 0:
                    return 0
                steps += headers
            position = end
    except (IndexError, ValueError):
        return 0
    return steps if position == size else 0


def _sound_headers(payload: Buffer, position: int, end: int, steps_max: int) -> int:
    """How many headers fill the bytes from `position` to `end`; -1 if they do not, or are more than `steps_max`."""
    count, position = read_signed(payload, position)
    if not 0 <= count <= min(steps_max, end - position):
        return -1
    for _ in range(count):
        name_length, position = read_signed(payload, position)
        if name_length < 0:
            return -1
        value_length, position = read_signed(payload, position + name_length)
        if value_length < -1:
            return -1
        if value_length > 0:
            position += value_length
    return count if position == end else -1


def keys_and_values(
    payload: Buffer, count: int, position: int = 0, end: int | None = None
) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of the records from `position` to `end`, with None for null; headers are skipped.

    ValueError or IndexError if the bytes are not records.
    """
    found: list[tuple[bytes | None, bytes | None]] = []
    size = len(payload) if end is None else end
    for _ in range(count):
        length, position = read_signed(payload, position)
        next_record = position + length
        if length < RECORD_BYTES_MIN - 1 or next_record > size:
            raise ValueError(f"a record of {length} bytes before byte {position} of {size}")
        position += 1  # attributes: none are defined
        for _ in range(2):  # the deltas of timestamp and offset
            _, position = (0, position + 1) if payload[position] < 0x80 else read_signed(payload, position)
        key_length, position = read_signed(payload, position)
        key_end = position + key_length if key_length > 0 else position
        value_length, value_start = read_signed(payload, key_end)
        value_end = value_start + value_length if value_length > 0 else value_start
        if key_length < -1 or value_length < -1 or value_end >= next_record:  # the number of headers comes after it
            raise ValueError(f"a key of {key_length} and a value of {value_length} bytes do not fit their record")
        key = None if key_length < 0 else bytes(payload[position:key_end])
        found.append((key, None if value_length < 0 else bytes(payload[value_start:value_end])))
        position = next_record
    if position != size:
        raise ValueError(f"{size - position} bytes after the last record")
    return found


def place_of(payload: Buffer, header: BatchHeader, offset: int) -> int | None:
    """The position of the record with this offset, if there is one. ValueError if the bytes are not records.

    In a batch without holes only the lengths of the records before it are read.
    """
    wanted = offset - header.base_offset
    unseen = wanted if header.last_offset_delta + 1 == header.record_count else 0  # these cannot be it
    position, size = 0, len(payload)
    for index in range(header.record_count):
        start = position
        first = payload[position] if position < size else 0
        if first < 0x80:
            length, position = (first >> 1) ^ -(first & 1), position + 1
        else:
            length, position = read_signed(payload, position)
        next_record = position + length
        if length < RECORD_BYTES_MIN - 1 or next_record > size:
            raise ValueError(f"a record of {length} bytes before byte {position} of {size}")
        if index >= unseen:
            _, position = read_signed(payload, position + 1)
            delta = read_signed(payload, position)[0]
            if delta >= wanted:
                return start if delta == wanted else None
        position = next_record
    return None


def first_since(
    payload: Buffer, header: BatchHeader, timestamp_ms: int, start: int, end: int
) -> tuple[int, int] | None:
    """Timestamp and offset of the first record with an offset in [start, end) that is not older than `timestamp_ms`.

    ValueError if the bytes are not records.
    """
    append_time = header.max_timestamp if header.is_log_append_time else None
    base = header.base_timestamp
    wanted = timestamp_ms - base
    position, size = 0, len(payload)
    for _ in range(header.record_count):
        first = payload[position] if position < size else 0
        if first < 0x80:
            length, position = (first >> 1) ^ -(first & 1), position + 1
        else:
            length, position = read_signed(payload, position)
        next_record = position + length
        if length < RECORD_BYTES_MIN - 1 or next_record > size:
            raise ValueError(f"a record of {length} bytes before byte {position} of {size}")
        delta, position = read_signed(payload, position + 1)
        if delta >= wanted or append_time is not None:
            offset = header.base_offset + read_signed(payload, position)[0]
            timestamp = base + delta if append_time is None else append_time
            if start <= offset < end and timestamp >= timestamp_ms:
                return timestamp, offset
        position = next_record
    return None


def timestamps(payload: Buffer, header: BatchHeader, count: int) -> Iterator[int]:
    """The timestamps of the first `count` records. IndexError or ValueError if the bytes are not records."""
    position = 0
    for _ in range(min(count, header.record_count)):
        length, position = read_signed(payload, position)
        if header.is_log_append_time:
            yield header.max_timestamp
        else:
            yield header.base_timestamp + read_signed(payload, position + 1)[0]
        position += max(length, RECORD_BYTES_MIN - 1)


def latest_from(payload: Buffer, header: BatchHeader, start: int) -> int:
    """The largest timestamp of the records at offset `start` or above; -1 if there are none. ValueError as above."""
    append_time = header.max_timestamp if header.is_log_append_time else None
    latest, position = -1, 0
    for _ in range(header.record_count):
        length, position = read_signed(payload, position)
        next_record = position + length
        if length < RECORD_BYTES_MIN - 1 or next_record > len(payload):
            raise ValueError(f"a record of {length} bytes before byte {position} of {len(payload)}")
        delta, position = read_signed(payload, position + 1)
        if header.base_offset + read_signed(payload, position)[0] >= start:
            latest = max(latest, header.base_timestamp + delta if append_time is None else append_time)
        position = next_record
    return latest
