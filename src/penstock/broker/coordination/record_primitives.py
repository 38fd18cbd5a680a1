"""Primitive types of Kafka's record schemas, as far as coordinators need them.

Fixed versions write int16 and int32 lengths, flexible ones unsigned varints of length + 1 and tagged fields at the end.
A reader never looks beyond its bytes: a value that is cut short or absurd is a `MalformedRecord`.
"""

from __future__ import annotations

from struct import Struct

INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")


class MalformedRecord(Exception):
    """Bytes that do not fit the schema of their version."""


class Reader:
    """A cursor over one key or value."""

    __slots__ = ("_data", "_flexible", "_position")

    def __init__(self, data: bytes | memoryview, *, flexible: bool = False) -> None:
        self._data = data
        self._position = 0
        self._flexible = flexible

    def _fixed(self, kind: Struct) -> int:
        end = self._position + kind.size
        if end > len(self._data):
            raise MalformedRecord(f"{kind.size} bytes wanted at {self._position} of {len(self._data)}")
        (value,) = kind.unpack_from(self._data, self._position)
        self._position = end
        return int(value)

    def int16(self) -> int:
        return self._fixed(INT16)

    def int32(self) -> int:
        return self._fixed(INT32)

    def int64(self) -> int:
        return self._fixed(INT64)

    def raw(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise MalformedRecord(f"{size} bytes wanted at {self._position} of {len(self._data)}")
        value = bytes(self._data[self._position : end])
        self._position = end
        return value

    def unsigned_varint(self) -> int:
        value = shift = 0
        while shift < 35:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise MalformedRecord("a varint of more than five bytes")

    def _length(self, kind: Struct) -> int:
        return self.unsigned_varint() - 1 if self._flexible else self._fixed(kind)

    def nullable_string(self) -> str | None:
        size = self._length(INT16)
        if size == -1:
            return None
        try:
            return self.raw(size).decode()
        except UnicodeDecodeError as error:
            raise MalformedRecord(str(error)) from error

    def string(self) -> str:
        value = self.nullable_string()
        if value is None:
            raise MalformedRecord("null where a string must be")
        return value

    def data(self) -> bytes:
        return self.raw(self._length(INT32))

    def count(self) -> int:
        """The length of an array. Each element has at least one byte, so a count above the bytes left is malformed."""
        count = self._length(INT32)
        if not 0 <= count <= len(self._data) - self._position:
            raise MalformedRecord(f"an array of {count}")
        return count

    def nullable_count(self) -> int:
        """The length of an array that may be null, which counts as empty."""
        position = self._position
        if self._length(INT32) == -1:
            return 0
        self._position = position
        return self.count()

    def tagged_fields(self) -> dict[int, bytes]:
        if not self._flexible:
            return {}
        fields = {}
        for _ in range(self.unsigned_varint()):
            tag = self.unsigned_varint()
            fields[tag] = self.raw(self.unsigned_varint())
        return fields


def unsigned_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(value: str) -> bytes:
    encoded = value.encode()
    return INT16.pack(len(encoded)) + encoded


def nullable_string(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else string(value)


def data(value: bytes) -> bytes:
    return INT32.pack(len(value)) + value


def compact_string(value: str) -> bytes:
    encoded = value.encode()
    return unsigned_varint(len(encoded) + 1) + encoded
