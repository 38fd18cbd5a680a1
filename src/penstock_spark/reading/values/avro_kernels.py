"""Compiled loops over Avro: they find the bytes of each field of each record, and decode numbers.

A type is a row of `nodes`: (its encoding, its first child in `children`, the number of children or its size in bytes).
Whatever the bytes are, nothing is read out of bounds.
"""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Flags, Ints, Longs
from penstock_spark.avro import BOOLEAN, ENUM, FIXED, MAP, NOTHING, RECORD, SIZED, UNION, VARINT
from penstock_spark.compiled import compiled
from penstock_spark.reading.records.kernels import varint
from penstock_spark.reading.values.spans import NULL, TEXT


@compiled
def _sized(data: Bytes, at: int, end: int) -> int:
    """The position behind bytes that are preceded by their size, or -1."""
    size, at = varint(data, at, end)
    return at + size if at >= 0 and 0 <= size <= end - at else -1


@compiled
def _block(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(items of the next block of a list or map, position of the first); the position is -1 if it is broken."""
    count, at = varint(data, at, end)
    if at >= 0 and count < 0:
        count = -count
        _, at = varint(data, at, end)  # the size in bytes, with which a reader can skip the block
    # An item has at least one byte: of empty items a few bytes could claim a billion.
    return (count, at) if at >= 0 and 0 <= count <= end - at else (0, -1)


@compiled
def skip(data: Bytes, at: int, end: int, nodes: Ints, children: Ints, node: int) -> int:
    """The position behind the value that begins here, or -1."""
    op, first, count = nodes[node, 0], nodes[node, 1], nodes[node, 2]
    if op == NOTHING:
        return at
    if op == BOOLEAN:
        return at + 1 if at < end and data[at] <= 1 else -1
    if op == FIXED:
        return at + count if count <= end - at else -1
    if op == SIZED:
        return _sized(data, at, end)
    if op in (VARINT, ENUM):
        _, at = varint(data, at, end)
        return at
    if op == UNION:
        branch, at = varint(data, at, end)
        if at < 0 or branch < 0 or branch >= count:
            return -1
        return skip(data, at, end, nodes, children, children[first + branch])
    if op == RECORD:
        for index in range(count):
            at = skip(data, at, end, nodes, children, children[first + index])
            if at < 0:
                return -1
        return at
    while True:  # a list or a map
        items, at = _block(data, at, end)
        if at < 0 or items == 0:
            return at
        for _ in range(items):
            if op == MAP:
                at = _sized(data, at, end)
                if at < 0:
                    return -1
            at = skip(data, at, end, nodes, children, children[first])
            if at < 0:
                return -1


@compiled
def scan_fields(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, nodes: Ints, children: Ints, node: int,
    field_starts: Ints, field_ends: Ints, field_kinds: Bytes, wrong: Flags,
) -> None:  # fmt: skip
    """Find the fields of records; one that does not end with its span is invalid. `field_kinds` is all NULL before."""
    first, count = nodes[node, 1], nodes[node, 2]
    for row in range(len(starts)):
        wrong[row] = False
        if kinds[row] == NULL:
            continue
        at, end = starts[row], ends[row]
        for index in range(count):
            before = at
            at = skip(data, at, end, nodes, children, children[first + index])
            if at < 0:
                break
            field_starts[index, row], field_ends[index, row], field_kinds[index, row] = before, at, TEXT
        if at != end:
            wrong[row] = True
            field_kinds[:, row] = NULL


@compiled
def scan_branches(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, nothing: int, to: Ints, to_kinds: Bytes) -> None:
    """Find the contents of unions; the branch `nothing` is null."""
    for row in range(len(starts)):
        to[row], to_kinds[row] = starts[row], NULL
        if kinds[row] != NULL:
            branch, at = varint(data, starts[row], ends[row])
            to[row] = at
            if branch != nothing:
                to_kinds[row] = TEXT


@compiled
def scan_blocks(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, nodes: Ints, children: Ints, node: int, edges: Ints,
    key_starts: Ints, key_ends: Ints, item_starts: Ints, item_ends: Ints,
) -> None:  # fmt: skip
    """Find the items of valid lists and maps; without room for items they are only counted."""
    found, has_room = 0, len(item_starts) > 0
    is_map, item = nodes[node, 0] == MAP, children[nodes[node, 1]]
    for row in range(len(starts)):
        at, end = starts[row], ends[row]
        items = 0
        if kinds[row] != NULL:
            items, at = _block(data, at, end)
        while items > 0:
            for _ in range(items):
                if is_map:
                    before = at
                    at = _sized(data, at, end)
                    if has_room:
                        key_starts[found], key_ends[found] = before, at
                before = at
                at = skip(data, at, end, nodes, children, item)
                if has_room:
                    item_starts[found], item_ends[found] = before, at
                found += 1
            items, at = _block(data, at, end)
        edges[row + 1] = found


@compiled
def scan_bodies(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, to: Ints) -> None:
    """Find where bytes begin behind their size."""
    for row in range(len(starts)):
        to[row] = starts[row]
        if kinds[row] != NULL:
            _, at = varint(data, starts[row], ends[row])
            to[row] = at


@compiled
def varints(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, out: Longs) -> None:
    for row in range(len(starts)):
        out[row] = 0
        if kinds[row] != NULL:
            value, _ = varint(data, starts[row], ends[row])
            out[row] = value


@compiled
def copy_fixed(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, out: Bytes) -> None:
    """Copy values of fixed size into rows of `out`, which are as wide as the type."""
    for row in range(len(starts)):
        for index in range(out.shape[1]):
            out[row, index] = data[starts[row] + index] if kinds[row] != NULL else 0


@compiled
def big_endian(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, out: Longs, wrong: Flags) -> None:
    """Decode integers in two's complement, as pairs of 64 bits with the low half first."""
    for row in range(len(starts)):
        low, high = np.uint64(0), np.uint64(0)
        start, end = starts[row], ends[row]
        wrong[row] = kinds[row] != NULL and (start == end or end - start > 16)
        if kinds[row] != NULL and not wrong[row]:
            if data[start] >= 128:
                low, high = ~low, ~high
            for at in range(start, end):
                high = (high << np.uint64(8)) | (low >> np.uint64(56))
                low = (low << np.uint64(8)) | np.uint64(data[at])
        out[row, 0], out[row, 1] = np.int64(low), np.int64(high)
