"""Compiled loops over the records of one batch: from wire bytes to columns, no Python object per record.

A record is `length, attributes, timestamp delta, offset delta, key, value, headers`, all numbers zigzag varints but the
attributes. Whatever the bytes are, nothing is read or written out of bounds: at a record that does not fit its length
the kernel stops and returns how many records were valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock_spark.arrays import Bytes, Ints, Longs
from penstock_spark.compiled import compiled


@compiled
def varint(data: Bytes, at: int, end: int) -> tuple[Any, int]:
    """Read a varint: (value, position after it); the position is -1 if it does not end before `end`."""
    result = np.uint64(0)
    shift = np.uint64(0)
    while at < end and shift < 70:
        byte = np.uint64(data[at])
        at += 1
        result |= (byte & np.uint64(0x7F)) << shift
        if byte < 0x80:
            return np.int64(result >> np.uint64(1)) ^ -np.int64(result & np.uint64(1)), at
        shift += np.uint64(7)
    return np.int64(0), -1


@compiled
def _sized(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read the size of nullable bytes: (size, position of the first byte); size -1 is null, position -1 is invalid."""
    size, at = varint(data, at, end)
    if at < 0 or size < -1 or at + max(size, 0) > end:
        return 0, -1
    return size, at


@compiled
def _copy(source: Bytes, at: int, size: int, target: Bytes, to: int) -> None:
    for index in range(size):
        target[to + index] = source[at + index]


@compiled
def decode(
    data: Bytes,
    count: int,
    base_offset: int,
    base_time: int,
    append_time: int,
    first: int,
    end: int,
    row: int,
    offsets: Longs,
    times: Longs,
    key_ends: Ints,
    keys: Bytes,
    key_valid: Bytes,
    value_ends: Ints,
    values: Bytes,
    value_valid: Bytes,
    header_counts: Ints,
) -> tuple[int, int]:
    """Decode records with offsets from `first` to before `end` into rows from `row` on: (rows so far, valid records).

    `append_time`, unless it is negative, is the time of all of them. Columns that are not wanted are arrays of size 0;
    `key_ends` and `value_ends` begin with a 0. `header_counts`, if wanted, gets how many headers each row has.
    """
    at, limit = 0, len(data)
    want_times, want_keys, want_values = len(times) > 0, len(key_ends) > 0, len(value_ends) > 0
    want_headers = len(header_counts) > 0
    for index in range(count):
        size, at = varint(data, at, limit)
        if at < 0 or size < 1 or at + size > limit:
            return row, index
        record_end = at + size
        time_delta, at = varint(data, at + 1, record_end)
        if at < 0:
            return row, index
        offset_delta, at = varint(data, at, record_end)
        if at < 0:
            return row, index
        key_size, key_at = _sized(data, at, record_end)
        if key_at < 0:
            return row, index
        value_size, value_at = _sized(data, key_at + max(key_size, 0), record_end)
        if value_at < 0:
            return row, index
        offset = base_offset + offset_delta
        if first <= offset < end:
            offsets[row] = offset
            if want_times:
                times[row] = append_time if append_time >= 0 else base_time + time_delta
            if want_keys:
                to = key_ends[row]
                _copy(data, key_at, key_size, keys, to)
                key_ends[row + 1] = to + max(key_size, 0)
                key_valid[row] = key_size >= 0
            if want_values:
                to = value_ends[row]
                _copy(data, value_at, value_size, values, to)
                value_ends[row + 1] = to + max(value_size, 0)
                value_valid[row] = value_size >= 0
            if want_headers:
                headers, at = varint(data, value_at + max(value_size, 0), record_end)
                if at < 0 or headers < 0 or headers > record_end - at:
                    return row, index
                header_counts[row] = headers
            row += 1
        at = record_end
    return row, (count if at == limit else -1)


@compiled
def decode_headers(
    data: Bytes,
    count: int,
    base_offset: int,
    first: int,
    end: int,
    header: int,
    name_ends: Ints,
    names: Bytes,
    value_ends: Ints,
    values: Bytes,
    value_valid: Bytes,
) -> tuple[int, int]:
    """Decode headers of records that `decode` found valid: (headers so far, records whose headers were valid, too)."""
    at = 0
    for index in range(count):
        size, at = varint(data, at, len(data))
        record_end = at + size
        _, at = varint(data, at + 1, record_end)
        offset_delta, at = varint(data, at, record_end)
        key_size, at = _sized(data, at, record_end)
        value_size, at = _sized(data, at + max(key_size, 0), record_end)
        if first <= base_offset + offset_delta < end:
            headers, at = varint(data, at + max(value_size, 0), record_end)
            for _ in range(headers):
                name_size, name_at = _sized(data, at, record_end)
                if name_at < 0 or name_size < 0:
                    return header, index
                size, at = _sized(data, name_at + name_size, record_end)
                if at < 0:
                    return header, index
                to = name_ends[header]
                _copy(data, name_at, name_size, names, to)
                name_ends[header + 1] = to + name_size
                to = value_ends[header]
                _copy(data, at, size, values, to)
                value_ends[header + 1] = to + max(size, 0)
                value_valid[header] = size >= 0
                at += max(size, 0)
                header += 1
        at = record_end
    return header, count
