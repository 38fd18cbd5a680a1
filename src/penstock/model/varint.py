"""Variable-length integers as records use them: seven bits a byte, low bits first, signed ones zigzagged.

Nothing is trusted: a number that does not end inside the buffer or is longer than its type raises ValueError.
"""

from __future__ import annotations

from penstock.model.batch import Buffer


def read_signed(buffer: Buffer, position: int) -> tuple[int, int]:
    """The zigzagged number at `position` and the position after it. Up to ten bytes (int64)."""
    try:
        first = buffer[position]
        if first < 0x80:  # nearly every number in a record
            return (first >> 1) ^ -(first & 1), position + 1
        second = buffer[position + 1]
        if second < 0x80:
            return ((first & 0x7F | second << 7) >> 1) ^ -(first & 1), position + 2
        number = first & 0x7F | (second & 0x7F) << 7
        position += 2
        shift = 14
        while (byte := buffer[position]) >= 0x80:
            number |= (byte & 0x7F) << shift
            position += 1
            shift += 7
            if shift > 63:
                raise ValueError("a varint has more than ten bytes")
    except IndexError:
        raise ValueError("a varint runs over the end of its buffer") from None
    number = (number | byte << shift) & 0xFFFFFFFFFFFFFFFF
    return (number >> 1) ^ -(number & 1), position + 1


def append_signed(buffer: bytearray, value: int) -> None:
    """Zigzag `value` and append it."""
    number = (value << 1) ^ (value >> 63)
    while number >= 0x80:
        buffer.append(number & 0x7F | 0x80)
        number >>= 7
    buffer.append(number)


def signed_bytes(value: int) -> bytes:
    """The size of what `append_signed` would append."""
    if 0 <= value < _COMMON_COUNT:
        return _COMMON[value]
    buffer = bytearray()
    append_signed(buffer, value)
    return bytes(buffer)


def signed_size(value: int) -> int:
    """How many bytes `append_signed` would add."""
    number = (value << 1) ^ (value >> 63)
    return max(1, (number.bit_length() + 6) // 7)


_COMMON_COUNT = 1 << 13  # all that takes two bytes: nearly every number in a record
_COMMON = tuple(bytes((n << 1,)) if n < 64 else bytes((n << 1 & 0x7F | 0x80, n >> 6)) for n in range(_COMMON_COUNT))
