"""Compiled loops that encode columns: the payloads of record batches, and the partition of each key.

Keys go to the same partitions as with Java clients and librdkafka (`murmur2_random`).
"""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Ints, Longs
from penstock_spark.compiled import compiled


@compiled
def _varint_size(value: int) -> int:
    folded = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while folded >= 0x80:
        folded >>= np.uint64(7)
        size += 1
    return size


@compiled
def _write_varint(target: Bytes, at: int, value: int) -> int:
    folded = np.uint64((value << 1) ^ (value >> 63))
    while folded >= 0x80:
        target[at] = np.uint8(folded & np.uint64(0x7F)) | np.uint8(0x80)
        folded >>= np.uint64(7)
        at += 1
    target[at] = np.uint8(folded)
    return at + 1


@compiled
def _write_bytes(target: Bytes, at: int, data: Bytes, first: int, end: int) -> int:
    at = _write_varint(target, at, end - first)
    for index in range(first, end):
        target[at] = data[index]
        at += 1
    return at


@compiled
def _body_size(
    row: int,
    delta: int,
    time_delta: int,
    key_ends: Ints,
    key_valid: Bytes,
    value_ends: Ints,
    value_valid: Bytes,
    header_ends: Ints,
    name_ends: Ints,
    header_value_ends: Ints,
    header_valid: Bytes,
) -> int:
    """The size of a record, without its length field."""
    size: int = 1 + _varint_size(time_delta) + _varint_size(delta)
    if key_valid[row]:
        length = key_ends[row + 1] - key_ends[row]
        size += _varint_size(length) + length
    else:
        size += 1
    if value_valid[row]:
        length = value_ends[row + 1] - value_ends[row]
        size += _varint_size(length) + length
    else:
        size += 1
    if len(header_ends) == 0:
        return size + 1
    size += _varint_size(header_ends[row + 1] - header_ends[row])
    for index in range(header_ends[row], header_ends[row + 1]):
        length = name_ends[index + 1] - name_ends[index]
        size += _varint_size(length) + length
        length = header_value_ends[index + 1] - header_value_ends[index]
        size += _varint_size(length) + length if header_valid[index] else 1
    return size


@compiled
def encode(
    rows: Longs,
    start: int,
    size_max: int,
    base_time: int,
    times: Longs,
    key_ends: Ints,
    keys: Bytes,
    key_valid: Bytes,
    value_ends: Ints,
    values: Bytes,
    value_valid: Bytes,
    header_ends: Ints,
    name_ends: Ints,
    names: Bytes,
    header_value_ends: Ints,
    header_values: Bytes,
    header_valid: Bytes,
    target: Bytes,
) -> tuple[int, int]:
    """Encode `rows[start:]`, as many as fit `size_max` but at least one: (rows taken, bytes written).

    If the first does not fit the target: (0, bytes it needs).
    """
    at, delta = 0, 0
    for index in range(start, len(rows)):
        row = rows[index]
        time_delta = times[row] - base_time if len(times) > 0 else 0
        size = _body_size(
            row, delta, time_delta, key_ends, key_valid, value_ends, value_valid,
            header_ends, name_ends, header_value_ends, header_valid,
        )  # fmt: skip
        whole = size + _varint_size(size)
        if at + whole > len(target):
            return (delta, at) if delta else (0, whole)
        if delta and at + whole > size_max:
            break
        at = _write_varint(target, at, size)
        target[at] = 0
        at = _write_varint(target, at + 1, time_delta)
        at = _write_varint(target, at, delta)
        if key_valid[row]:
            at = _write_bytes(target, at, keys, key_ends[row], key_ends[row + 1])
        else:
            at = _write_varint(target, at, -1)
        if value_valid[row]:
            at = _write_bytes(target, at, values, value_ends[row], value_ends[row + 1])
        else:
            at = _write_varint(target, at, -1)
        if len(header_ends) == 0:
            at = _write_varint(target, at, 0)
        else:
            at = _write_varint(target, at, header_ends[row + 1] - header_ends[row])
            for header in range(header_ends[row], header_ends[row + 1]):
                at = _write_bytes(target, at, names, name_ends[header], name_ends[header + 1])
                if header_valid[header]:
                    first, end = header_value_ends[header], header_value_ends[header + 1]
                    at = _write_bytes(target, at, header_values, first, end)
                else:
                    at = _write_varint(target, at, -1)
        delta += 1
    return delta, at


@compiled
def _murmur2(data: Bytes, first: int, end: int) -> int:
    mix = np.uint32(0x5BD1E995)
    length = end - first
    code = np.uint32(0x9747B28C) ^ np.uint32(length)
    at = first
    for _ in range(length // 4):
        word = (
            np.uint32(data[at])
            | (np.uint32(data[at + 1]) << np.uint32(8))
            | (np.uint32(data[at + 2]) << np.uint32(16))
            | (np.uint32(data[at + 3]) << np.uint32(24))
        )
        word = np.uint32(word * mix)
        word ^= word >> np.uint32(24)
        word = np.uint32(word * mix)
        code = np.uint32(np.uint32(code * mix) ^ word)
        at += 4
    rest = length % 4
    if rest == 3:
        code ^= np.uint32(data[at + 2]) << np.uint32(16)
    if rest >= 2:
        code ^= np.uint32(data[at + 1]) << np.uint32(8)
    if rest >= 1:
        code ^= np.uint32(data[at])
        code = np.uint32(code * mix)
    code ^= code >> np.uint32(13)
    code = np.uint32(code * mix)
    return int(np.uint32(code ^ (code >> np.uint32(15))))


@compiled
def partitions_of(
    key_ends: Ints, keys: Bytes, key_valid: Bytes, topics: Ints, counts: Ints, spread: int, partitions: Ints
) -> None:
    """Fill in negative partitions: by key, or with `spread` for rows without one.

    `topics` has the index of each row's topic, `counts` the number of partitions of each topic.
    """
    for row in range(len(partitions)):
        if partitions[row] < 0:
            count = counts[topics[row]]
            if key_valid[row]:
                partitions[row] = (_murmur2(keys, key_ends[row], key_ends[row + 1]) & 0x7FFFFFFF) % count
            else:
                partitions[row] = spread % count


# --- pieces of Avro records ------------------------------------------------------------------------------------------


@compiled
def varints(numbers: Longs, ends: Ints, target: Bytes) -> int:
    """Write every number as a zigzag varint. Returns the number of bytes."""
    at = 0
    for row in range(len(numbers)):
        at = _write_varint(target, at, numbers[row])
        ends[row + 1] = at
    return at


@compiled
def sized_bytes(source_ends: Ints, source: Bytes, valid: Bytes, ends: Ints, target: Bytes) -> int:
    """Write every value after its length; nothing for null."""
    at = 0
    for row in range(len(valid)):
        if valid[row]:
            at = _write_bytes(target, at, source, source_ends[row], source_ends[row + 1])
        ends[row + 1] = at
    return at
