"""Frames: a type, the sender's message id, and a payload whose length is known before it is read.

    type:1  message id:8  length:4  payload:length

Payloads belong to `protocol.push.messages`. A length above the limit and a type that does not
exist are noticed from the header alone, before any memory is spent on the payload.
"""

from __future__ import annotations

import enum
from struct import Struct
from typing import NamedTuple

HEADER = Struct(">BqI")
HEADER_BYTES = HEADER.size
NO_ID = 0
"""The message id of frames that neither answer a request nor are answered."""
DEFAULT_FRAME_BYTES_MAX = 16 * 1024 * 1024

Buffer = bytes | bytearray | memoryview


class FrameType(enum.IntEnum):
    DATA = 0x01
    ACK = 0x02
    SUBSCRIBE = 0x03
    COMMIT_OFFSET = 0x04
    RESET = 0x05
    READY = 0x06
    DISCONNECT = 0x07
    HEARTBEAT = 0x08
    PUBLISH = 0x09
    CREATE_TOPIC = 0x0A
    CREATE_SUBSCRIPTION = 0x0B
    DELETE_SUBSCRIPTION = 0x0C
    UNSUBSCRIBE = 0x0D
    ERROR = 0x0E
    AUTHENTICATE = 0x0F


class MalformedFrame(Exception):
    """Bytes that are not a frame or not a payload: an ERROR is sent and the connection is closed."""


class Frame(NamedTuple):
    type: FrameType
    message_id: int
    payload: bytes


_TYPES = {int(one): one for one in FrameType}
_NO_TYPE = f"is not a type of frame; the types are 0x{min(_TYPES):02X} to 0x{max(_TYPES):02X}"


def encode_frame(frame_type: int, message_id: int, payload: Buffer = b"") -> bytes:
    return HEADER.pack(frame_type, message_id, len(payload)) + payload


class FrameSplitter:
    """Splits a stream of bytes into frames, however it is cut into pieces."""

    __slots__ = ("_held", "_wanted", "frame_bytes_max", "limit_name")

    def __init__(
        self, frame_bytes_max: int = DEFAULT_FRAME_BYTES_MAX, limit_name: str = "push.frame_bytes_max"
    ) -> None:
        """`limit_name` tells the sender of a longer frame what its limit is. Both may change between two frames."""
        self.frame_bytes_max = frame_bytes_max
        self.limit_name = limit_name
        self._held = bytearray()  # the beginning of a frame
        self._wanted = HEADER_BYTES  # so many bytes must be there before it is worth a look

    @property
    def held_bytes(self) -> int:
        """The bytes of an incomplete frame."""
        return len(self._held)

    def feed(self, data: Buffer) -> list[Frame]:
        """The frames that these bytes complete. MalformedFrame if they are invalid; then nothing more may be read.

        Frames before the bad one are lost with it: its sender cannot be trusted with the rest either.
        """
        if self._held:
            self._held += data
            if len(self._held) < self._wanted:
                return []
            data = bytes(self._held)
            self._held.clear()
        elif not isinstance(data, bytes):
            data = bytes(data)
        frames: list[Frame] = []
        position, size = 0, len(data)
        types, limit, unpack_from = _TYPES, self.frame_bytes_max, HEADER.unpack_from
        wanted = HEADER_BYTES
        while size - position >= HEADER_BYTES:
            number, message_id, length = unpack_from(data, position)
            frame_type = types.get(number)
            if frame_type is None:
                raise MalformedFrame(f"0x{number:02X} {_NO_TYPE}")
            if length > limit:
                raise MalformedFrame(
                    f"{frame_type.name} with {length} bytes; a frame has at most {limit} ({self.limit_name})"
                )
            start = position + HEADER_BYTES
            if size - start < length:
                wanted = HEADER_BYTES + length
                break
            position = start + length
            frames.append(Frame(frame_type, message_id, data[start:position]))
        else:
            if position < size and data[position] not in types:
                raise MalformedFrame(f"0x{data[position]:02X} {_NO_TYPE}")
        self._wanted = wanted
        if position < size:
            self._held += data[position:]
        return frames
