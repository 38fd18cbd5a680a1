"""The values that payloads are made of: integers, `text`, `bytes`, `bytes?`, `start`.

Everything here reads untrusted bytes: a length that points outside its payload is a MalformedFrame.
"""

from __future__ import annotations

import enum
import struct
from struct import Struct
from typing import Any, NamedTuple

from penstock.protocol.push.frames import MalformedFrame

I8 = Struct(">b")
I16 = Struct(">h")
I32 = Struct(">i")
I64 = Struct(">q")
TEXT_BYTES_MAX = 0x7FFF
_START = Struct(">bq")


class StartKind(enum.IntEnum):
    EARLIEST = 0
    LATEST = 1
    OFFSET = 2
    TIME = 3


class Start(NamedTuple):
    """Where a new subscription begins; `value` is an offset or a time in ms, as the kind says."""

    kind: StartKind = StartKind.EARLIEST
    value: int = 0


def text(value: str) -> bytes:
    """ValueError if it is longer than an i16 can say."""
    data = value.encode("utf-8", "surrogateescape")
    if len(data) > TEXT_BYTES_MAX:
        raise ValueError(f"a text of {len(data)} bytes; {TEXT_BYTES_MAX} is the most")
    return I16.pack(len(data)) + data


def nullable_bytes(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else I32.pack(len(value)) + value


def some_bytes(value: bytes) -> bytes:
    return I32.pack(len(value)) + value


def start(value: Start) -> bytes:
    return _START.pack(value.kind, value.value)


class Reader:
    """Takes values off a payload, one after the other."""

    __slots__ = ("_data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self.position = position

    def take(self, layout: Struct) -> tuple[Any, ...]:
        try:
            values = layout.unpack_from(self._data, self.position)
        except struct.error:
            raise MalformedFrame(f"the payload ends at byte {len(self._data)}, in the middle of a value") from None
        self.position += layout.size
        return values

    def i8(self) -> int:
        number: int = self.take(I8)[0]
        return number

    def i16(self) -> int:
        number: int = self.take(I16)[0]
        return number

    def i32(self) -> int:
        number: int = self.take(I32)[0]
        return number

    def i64(self) -> int:
        number: int = self.take(I64)[0]
        return number

    def raw(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self._data):
            raise MalformedFrame(f"a length of {length} at byte {self.position} of {len(self._data)}")
        data = self._data[self.position : end]
        self.position = end
        return data

    def text(self) -> str:
        try:
            return self.raw(self.i16()).decode()
        except UnicodeDecodeError:
            raise MalformedFrame("a text is not UTF-8") from None

    def nullable_bytes(self) -> bytes | None:
        length = self.i32()
        return None if length == -1 else self.raw(length)

    def some_bytes(self) -> bytes:
        return self.raw(self.i32())

    def start(self) -> Start:
        kind, value = self.take(_START)
        try:
            return Start(StartKind(kind), value)
        except ValueError:
            raise MalformedFrame(f"a start of kind {kind}; there are 0 to 3") from None

    def count(self, value: int, bytes_min: int) -> int:
        """A number of elements, each of which has at least so many bytes."""
        if value < 0 or value * bytes_min > len(self._data) - self.position:
            raise MalformedFrame(f"{value} elements in {len(self._data) - self.position} bytes")
        return value

    def end(self) -> None:
        if self.position != len(self._data):
            raise MalformedFrame(f"{len(self._data) - self.position} bytes after the end of the payload")
