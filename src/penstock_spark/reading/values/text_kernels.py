"""Compiled loops that copy spans of text: as they are, or with escapes of JSON or doubled quotes of CSV undone."""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Ints
from penstock_spark.compiled import compiled, inlined, wide
from penstock_spark.reading.values.spans import DOUBLED, ESCAPED, NULL

_ESCAPES = np.zeros(128, dtype=np.uint8)
for _letter, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _ESCAPES[_letter] = _meaning


@inlined
def hex_digit(byte: int) -> int:
    """The value of a hexadecimal digit, -1 if it is not one."""
    if 48 <= byte <= 57:
        return int(byte) - 48
    if 65 <= byte <= 70:
        return int(byte) - 55
    if 97 <= byte <= 102:
        return int(byte) - 87
    return -1


@inlined
def is_escape(byte: int) -> bool:
    """Whether the byte may follow a backslash; `u` has its own rule."""
    return byte < 128 and _ESCAPES[byte] != 0


@inlined
def _unit(data: Bytes, at: int) -> int:
    """The number of the four digits behind `\\u`."""
    value = 0
    for index in range(4):
        value = value * 16 + hex_digit(data[at + index])
    return value


@compiled
def _encode(code: int, out: Bytes, to: int) -> int:
    """Write a character as UTF-8; half a surrogate pair becomes `?`, as in Java."""
    if 0xD800 <= code < 0xE000:
        code = 63
    if code < 0x80:
        out[to] = code
        return to + 1
    if code < 0x800:
        out[to] = 0xC0 | code >> 6
        out[to + 1] = 0x80 | code & 0x3F
        return to + 2
    if code < 0x10000:
        out[to] = 0xE0 | code >> 12
        out[to + 1] = 0x80 | code >> 6 & 0x3F
        out[to + 2] = 0x80 | code & 0x3F
        return to + 3
    out[to] = 0xF0 | code >> 18
    out[to + 1] = 0x80 | code >> 12 & 0x3F
    out[to + 2] = 0x80 | code >> 6 & 0x3F
    out[to + 3] = 0x80 | code & 0x3F
    return to + 4


@compiled
def unescape(data: Bytes, at: int, end: int, out: Bytes, to: int) -> int:
    """Write a valid JSON string unescaped, which never makes it longer. Returns the position behind it."""
    while at < end:
        byte = data[at]
        if byte != 92:
            out[to] = byte
            to += 1
            at += 1
        elif data[at + 1] != 117:
            out[to] = _ESCAPES[data[at + 1]]
            to += 1
            at += 2
        else:
            code = _unit(data, at + 2)
            at += 6
            if 0xD800 <= code < 0xDC00 and at + 5 < end and data[at] == 92 and data[at + 1] == 117:
                second = _unit(data, at + 2)
                if 0xDC00 <= second < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)
                    at += 6
            to = _encode(code, out, to)
    return to


@compiled
def copy_texts(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, out_ends: Ints, out: Bytes) -> None:
    """Copy texts into `out`, which has room for all spans; `out_ends` begins with a 0."""
    to = wide(0)
    for row in range(len(starts)):
        kind, at, end = kinds[row], wide(starts[row]), wide(ends[row])
        if kind == ESCAPED:
            to = unescape(data, at, end, out, to)
        elif kind == DOUBLED:
            while at < end:
                out[to] = data[at]
                to += 1
                at += 2 if data[at] == 34 else 1
        elif kind != NULL:
            for index in range(end - at):
                out[to + index] = data[at + index]
            to += end - at
        out_ends[row + 1] = to
