"""The few primitive types that the hand-written codecs need: varints, strings, tagged fields.

Everything here reads from untrusted bytes. A length that points outside raises `MalformedRequest`; so may an
IndexError or struct.error, which callers turn into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType
from typing import Protocol

from penstock.model.limits import TAGGED_FIELDS_MAX

Buffer = bytes | bytearray | memoryview


class Sendable(Protocol):
    """Bytes that lie elsewhere and go to a socket by themselves."""

    def __len__(self) -> int: ...
    def send(self, socket_fd: int) -> int: ...
    def read(self, size: int) -> bytes:
        """Take the next bytes, for a connection that must not write to the socket past its transport."""
        ...


INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")
STRING_BYTES_MAX = 0x7FFF
"""The longest string that Kafka reads, although lengths of flexible versions could be larger."""


class MalformedRequest(Exception):
    """Bytes that are not a Kafka request: the connection is closed, as in Kafka."""


def read_unsigned_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """(value, position after it)."""
    byte: int = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    shift = 7
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
        if shift > 28:
            raise MalformedRequest("a varint of more than 5 bytes")


def write_unsigned_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take(buffer: memoryview, position: int, size: int) -> memoryview:
    """A view of `size` bytes that really are there."""
    end = position + size
    if size < 0 or end > len(buffer):
        raise MalformedRequest("a length points outside the request")
    return buffer[position:end]


def read_string(buffer: memoryview, position: int, flexible: bool) -> tuple[str | None, int]:
    """A nullable string of either encoding, and the position after it."""
    if flexible:
        length, position = read_unsigned_varint(buffer, position)
        length -= 1
    else:
        (length,) = INT16.unpack_from(buffer, position)
        position += 2
    if length < 0:
        return None, position
    if length > STRING_BYTES_MAX:
        raise MalformedRequest(f"a string of {length} bytes")
    return str(take(buffer, position, length), "utf-8"), position + length


def write_string(text: str | None, flexible: bool) -> bytes:
    if text is None:
        return b"\0" if flexible else b"\xff\xff"
    data = text.encode()
    return (write_unsigned_varint(len(data) + 1) if flexible else INT16.pack(len(data))) + data


def read_count(buffer: memoryview, position: int, flexible: bool) -> tuple[int, int]:
    """The length of an array that may not be null, and the position of its first element."""
    if flexible:
        count, position = read_unsigned_varint(buffer, position)
        count -= 1
    else:
        (count,) = INT32.unpack_from(buffer, position)
        position += 4
    if count < 0:
        raise MalformedRequest("null where an array must be")
    if count > len(buffer) - position:  # every element has at least one byte
        raise MalformedRequest("an array longer than the request")
    return count, position


def write_count(count: int, flexible: bool) -> bytes:
    return write_unsigned_varint(count + 1) if flexible else INT32.pack(count)


def take_tags(room: list[int], count: int) -> None:
    """Count tagged fields. `room` is the number for which a request, with all structs in it, still has room."""
    room[0] -= count
    if room[0] < 0:
        raise MalformedRequest(f"more than {TAGGED_FIELDS_MAX} tagged fields")


def skip_tagged_fields(
    buffer: Buffer, position: int, room: list[int], sizes: Mapping[int, int] = MappingProxyType({})
) -> int:
    """Skip tagged fields. `room` is that of `take_tags`. `sizes` has the fixed sizes of known tags; another size is
    malformed."""
    if not buffer[position]:
        return position + 1
    count, position = read_unsigned_varint(buffer, position)
    take_tags(room, count)
    for _ in range(count):
        tag, position = read_unsigned_varint(buffer, position)
        size, position = read_unsigned_varint(buffer, position)
        if sizes.get(tag, size) != size:
            raise MalformedRequest(f"{size} bytes in the tagged field {tag}")
        position += size
        if position > len(buffer):
            raise MalformedRequest("a tagged field points outside the request")
    return position
