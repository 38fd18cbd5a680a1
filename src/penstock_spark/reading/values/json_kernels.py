"""Compiled loops over JSON that find the bytes of each field. Nothing is copied or converted.

JSON is what Spark's `from_json` accepts by default: the standard, strings in single quotes, and `NaN` and `Infinity` as
numbers. Values may be nested 64 levels deep.
"""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Flags, Ints
from penstock_spark.compiled import compiled, inlined, wide
from penstock_spark.reading.values.spans import (
    ARRAY,
    ESCAPED,
    FALSE,
    FLOAT,
    INTEGER,
    NOT_FINITE,
    NULL,
    OBJECT,
    STRING,
    TRUE,
)
from penstock_spark.reading.values.text_kernels import hex_digit, is_escape, unescape

RIGHT, EMPTY, NO_OBJECT, BROKEN = range(4)
_DEPTH_MAX = 64

_WORD_TEXTS = (b"null", b"true", b"false", b"NaN", b"Infinity", b"INF")
_WORD_KINDS = np.array([NULL, TRUE, FALSE, NOT_FINITE, NOT_FINITE, NOT_FINITE], dtype=np.uint8)
_WORDS = np.array(list(b"".join(_WORD_TEXTS)), dtype=np.uint8)
_WORD_ENDS = np.cumsum([0, *map(len, _WORD_TEXTS)])

_IS_PLAIN = np.array([byte >= 32 and byte not in b"\\'\"" for byte in range(256)])
"""Bytes without a special meaning in a string."""


@inlined
def _space(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@compiled
def _escaped(data: Bytes, at: int, end: int) -> int:
    """The position behind the escape that begins with this backslash; -1 if it is invalid."""
    if at + 1 >= end:
        return -1
    if data[at + 1] != 117:
        return at + 2 if is_escape(data[at + 1]) else -1
    if at + 5 >= end:
        return -1
    for index in range(2, 6):
        if hex_digit(data[at + index]) < 0:
            return -1
    return at + 6


@inlined
def _string(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(position behind the closing quote or -1, kind)"""
    quote, kind, after = data[at], STRING, -1
    at += 1
    while at < end:
        byte = data[at]
        if _IS_PLAIN[byte]:
            at += 1
        elif byte == quote:
            after = at + 1
            break
        elif byte == 92:
            kind = ESCAPED
            at = _escaped(data, at, end)
            if at < 0:
                break
        elif byte < 32:
            break
        else:
            at += 1  # the other quote
    return after, kind


@inlined
def _digits(data: Bytes, at: int, end: int) -> int:
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@compiled
def _word(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(position behind it or -1, kind) of `null`, `true` and the like."""
    for index in range(len(_WORD_KINDS)):
        first = _WORD_ENDS[index]
        size = _WORD_ENDS[index + 1] - first
        if at + size <= end and data[at] == _WORDS[first]:
            place = 1
            while place < size and data[at + place] == _WORDS[first + place]:
                place += 1
            if place == size:
                return at + size, int(_WORD_KINDS[index])
    return -1, NULL


@compiled
def _number(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(position behind it or -1, kind)"""
    has_sign = data[at] == 45 or data[at] == 43
    is_plus = data[at] == 43
    if has_sign:
        at += 1
    if at < end and has_sign and data[at] == 73:
        return _word(data, at, end)
    after = _digits(data, at, end)
    if after == at or is_plus or (data[at] == 48 and after > at + 1):
        return -1, INTEGER
    kind = INTEGER
    if after < end and data[after] == 46:
        kind, at = FLOAT, after + 1
        after = _digits(data, at, end)
        if after == at:
            return -1, kind
    if after < end and (data[after] == 101 or data[after] == 69):
        kind, at = FLOAT, after + 1
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        after = _digits(data, at, end)
        if after == at:
            return -1, kind
    return after, kind


@inlined
def _plain(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(position behind it or -1, kind) of a value that has no others in it."""
    byte = data[at]
    if byte == 34 or byte == 39:
        return _string(data, at, end)
    if byte <= 57:
        return _number(data, at, end)
    return _word(data, at, end)


@inlined
def _name(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read the name of a member: (position behind the closing quote, position of the value or -1 if malformed)."""
    if at >= end or (data[at] != 34 and data[at] != 39):
        return at, -1
    after, _ = _string(data, at, end)
    if after < 0:
        return at, -1
    at = _space(data, after, end)
    if at >= end or data[at] != 58:
        return at, -1
    at = _space(data, at + 1, end)
    return after, (at if at < end else -1)


@compiled
def _nested(data: Bytes, at: int, end: int) -> int:
    """The position behind the object or array that begins here, or -1. Open ones are a stack of bits, 1 for objects."""
    objects, depth = np.uint64(0), 0
    while True:
        byte = data[at]
        if byte == 123 or byte == 91:
            if depth == _DEPTH_MAX:
                return -1
            depth += 1
            objects = (objects << np.uint64(1)) | np.uint64(byte == 123)
            at = _space(data, at + 1, end)
            if at >= end:
                return -1
            if data[at] != 125 and data[at] != 93:
                if byte == 123:
                    _, at = _name(data, at, end)
                    if at < 0:
                        return -1
                continue
        else:
            at, _ = _plain(data, at, end)
            if at < 0:
                return -1
        while True:  # a value has ended, or the container was empty
            if depth == 0:
                return at
            at = _space(data, at, end)
            if at >= end:
                return -1
            is_object = objects & np.uint64(1) == np.uint64(1)
            if data[at] == (125 if is_object else 93):
                depth -= 1
                objects >>= np.uint64(1)
                at += 1
            elif data[at] == 44:
                at = _space(data, at + 1, end)
                if is_object:
                    _, at = _name(data, at, end)
                if at < 0 or at >= end:
                    return -1
                break
            else:
                return -1


@inlined
def _value(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(position behind it or -1, kind)"""
    if data[at] == 123:
        return _nested(data, at, end), OBJECT
    if data[at] == 91:
        return _nested(data, at, end), ARRAY
    return _plain(data, at, end)


@inlined
def _field(data: Bytes, at: int, end: int, names: Bytes, name_ends: Ints, guess: int) -> int:
    """The index of this name, or -1. Most objects have their fields in the same order: `guess` is tried first."""
    count = len(name_ends) - 1
    size = end - at
    for step in range(count):
        index = guess + step
        if index >= count:
            index -= count
        first = name_ends[index]
        if name_ends[index + 1] - first == size:
            place = 0
            while place < size and data[at + place] == names[first + place]:
                place += 1
            if place == size:
                return index
    return -1


@compiled
def _members(
    data: Bytes, at: int, end: int, row: int, names: Bytes, name_ends: Ints, starts: Ints, ends: Ints, kinds: Bytes
) -> int:
    """The position behind the object that begins here, or -1."""
    at = _space(data, at + 1, end)
    if at < end and data[at] == 125:
        return at + 1
    guess = 0
    while True:
        name_at = at + 1
        after, at = _name(data, at, end)
        if at < 0:
            return -1
        field = _field(data, name_at, after - 1, names, name_ends, guess)
        if field < 0:
            for index in range(name_at, after - 1):
                if data[index] == 92:
                    room = np.empty(after - name_at, dtype=np.uint8)
                    size = unescape(data, name_at, after - 1, room, wide(0))
                    field = _field(room, 0, size, names, name_ends, guess)
                    break
        value_at = at
        at, kind = _value(data, at, end)
        if at < 0:
            return -1
        if field >= 0:
            is_quoted = kind in (STRING, ESCAPED)
            starts[field, row], ends[field, row], kinds[field, row] = value_at + is_quoted, at - is_quoted, kind
            guess = field + 1
        at = _space(data, at, end)
        if at >= end:
            return -1
        if data[at] == 125:
            return at + 1
        if data[at] != 44:
            return -1
        at = _space(data, at + 1, end)


@compiled
def scan_values(
    data: Bytes, starts: Ints, ends: Ints, valid: Flags, names: Bytes, name_ends: Ints,
    field_starts: Ints, field_ends: Ints, field_kinds: Bytes, problems: Ints,
) -> None:  # fmt: skip
    """Scan whole values, each of which should be one object; `field_kinds` is all NULL before."""
    for row in range(len(starts)):
        problems[row] = RIGHT
        if not valid[row]:
            continue
        end = wide(ends[row])
        at = _space(data, wide(starts[row]), end)
        if at >= end:
            problems[row] = EMPTY
        elif data[at] != 123:
            after, _ = _value(data, at, end)
            problems[row] = NO_OBJECT if after >= 0 and _space(data, after, end) == end else BROKEN
        else:
            at = _members(data, at, end, row, names, name_ends, field_starts, field_ends, field_kinds)
            if at < 0 or _space(data, at, end) < end:
                problems[row] = BROKEN
        if problems[row] != RIGHT:
            field_kinds[:, row] = NULL


@compiled
def scan_objects(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, names: Bytes, name_ends: Ints,
    field_starts: Ints, field_ends: Ints, field_kinds: Bytes,
) -> None:  # fmt: skip
    """Scan objects inside values, which are known to be valid."""
    for row in range(len(starts)):
        if kinds[row] == OBJECT:
            at, end = wide(starts[row]), wide(ends[row])
            _members(data, at, end, row, names, name_ends, field_starts, field_ends, field_kinds)


@compiled
def scan_items(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, wanted: int, edges: Ints,
    key_starts: Ints, key_ends: Ints, key_kinds: Bytes, item_starts: Ints, item_ends: Ints, item_kinds: Bytes,
) -> None:  # fmt: skip
    """Find items of arrays, or (if `wanted` is OBJECT) members of objects.

    `edges` begins with 0 and gets the end of each row's items. Without room for items they are only counted.
    """
    found = 0
    has_room = len(item_starts) > 0
    for row in range(len(starts)):
        if kinds[row] == wanted:
            end = wide(ends[row]) - 1
            at = _space(data, wide(starts[row]) + 1, end)
            while at < end:
                if wanted == OBJECT:
                    name_at = at
                    after, at = _name(data, at, end)
                    if has_room:
                        _, kind = _string(data, name_at, end)
                        key_starts[found], key_ends[found], key_kinds[found] = name_at + 1, after - 1, kind
                value_at = at
                at, kind = _value(data, at, end)
                if has_room:
                    is_quoted = kind in (STRING, ESCAPED)
                    item_starts[found], item_ends[found] = value_at + is_quoted, at - is_quoted
                    item_kinds[found] = kind
                found += 1
                at = _space(data, at, end)
                if at < end:
                    at = _space(data, at + 1, end)  # behind the comma
        edges[row + 1] = found
