"""Variable-length integers as records use them: seven bits a byte, low bits first, signed ones zigzagged.

Nothing is trusted: a number that does not end inside the buffer or is longer than its type raises ValueError.
"""

from __future__ import annotations

from penstock.model.batch import Buffer


def read_signed(buffer: Buffer, position: int) -> tuple[int, int]:
    """The zigzagged number at `position` and the position after it. Up to ten bytes (int64)."""
    try:
        byte = buffer[position]
        if byte < 0x80:  # nearly every number in a record
            return (byte >> 1) ^ -(byte & 1), position + 1
        number = byte & 0x7F
        shift = 7
        while True:
            position += 1
            byte = buffer[position]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise ValueError("a varint has more than ten bytes")
    except IndexError:
        raise ValueError("a varint runs over the end of its buffer") from None
    number &= 0xFFFFFFFFFFFFFFFF
    return (number >> 1) ^ -(number & 1), position + 1


def append_signed(buffer: bytearray, value: int) -> None:
    """Zigzag `value` and append it."""
    number = (value << 1) ^ (value >> 63)
    while number >= 0x80:
        buffer.append(number & 0x7F | 0x80)
        number >>= 7
    buffer.append(number)


def signed_size(value: int) -> int:
    """How many bytes `append_signed` would add."""
    number = (value << 1) ^ (value >> 63)
    return max(1, (number.bit_length() + 6) // 7)
