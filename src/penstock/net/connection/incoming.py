"""A request whose bytes are still arriving, with a buffer of its own into which the socket writes.

It takes room for what has arrived (`net.frame_room`) in steps that double. Its buffer grows with what has arrived, too:
a new bytearray is filled with zeros, so that an announced size would cost its memory at once. Below 1 MiB it has four
times what has arrived, so that most frames, which are cut by the end of a read, complete without a copy.
The first bytes are free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.model.limits import (
    FRAME_BYTES_PER_SECOND_MIN,
    FRAME_BYTES_PER_SECOND_MIN_CROWDED,
    FRAME_SPARE_MS_MAX_CROWDED,
)
from penstock.net.connection.frame_pace import FramePace
from penstock.net.flow_control import SMALL_FRAME_BYTES, FlowControl

FREE_BYTES: Final = 64 * 1024
FIRST_BYTES: Final = 16 * 1024
"""The least buffer: a client that announces a frame and sends nothing of it costs no more."""


class IncomingFrame:
    """One incomplete frame; implements `net.frame_room.GrowingFrame`.

    `on_room` is called if it had to wait for room and has got it.
    """

    __slots__ = ("_buffer", "_filled", "_granted", "_on_room", "_pace", "_room", "held_bytes", "size", "waits_for_room")

    def __init__(self, size: int, part: memoryview, flow: FlowControl, on_room: Callable[[], None]) -> None:
        self.size = size
        self.held_bytes = 0
        self.waits_for_room = False
        self._on_room = on_room
        self._room = flow.room_of(size)
        self._pace: FramePace | None = None
        self._granted = FREE_BYTES
        self._buffer = bytearray(_capacity(size, len(part)))
        self._filled = len(part)
        self._buffer[: self._filled] = part
        if self._filled >= FREE_BYTES:
            self._grow()

    def space(self) -> memoryview:
        """The buffer for the next bytes."""
        if self._filled == len(self._buffer):
            grown = bytearray(_capacity(self.size, self._filled))
            grown[: self._filled] = self._buffer
            self._buffer = grown
        if self._room.is_crowded and self._granted > self._filled:
            return memoryview(self._buffer)[self._filled : self._granted]
        return memoryview(self._buffer)[self._filled :]

    def received(self, size: int) -> bool:
        """Note that so many bytes have arrived. Returns whether the frame is complete."""
        self._filled += size
        if self._filled == self.size:
            return True
        if self._filled >= self._granted:
            self._grow()
        return False

    def end(self) -> memoryview:
        """Give the room back, of a frame that is complete or never will be. Returns the bytes that have arrived."""
        if self.held_bytes or self.waits_for_room:
            self.waits_for_room = False
            self._room.end(self)
        return memoryview(self._buffer)

    def complete(self) -> memoryview:
        """The bytes of a frame that is complete. Its room is kept until `release`."""
        if self.held_bytes:
            self._room.complete(self)
        return memoryview(self._buffer)

    def release(self) -> None:
        """Give back the room of a complete frame."""
        if self.held_bytes:
            self._room.release(self)

    def is_too_slow(self, moment: float, spare_seconds: float) -> bool:
        """Whether its bytes come too slowly; while others wait for room, what holds room has to come faster."""
        if self._pace is None:
            self._pace = FramePace(self._filled, moment, spare_seconds)
            return False
        least = FRAME_BYTES_PER_SECOND_MIN
        if self.held_bytes and self._room.is_crowded:
            least = FRAME_BYTES_PER_SECOND_MIN_CROWDED
            spare_seconds = min(spare_seconds, FRAME_SPARE_MS_MAX_CROWDED / 1000)
        return self._pace.is_too_slow(self._filled, moment, least, spare_seconds)

    def _grow(self) -> None:
        granted = self._granted
        while granted <= self._filled:
            granted *= 2
        if self._room.grow(self, min(granted, self.size)):
            self._granted = self.held_bytes
        else:
            self.waits_for_room = True

    def room_granted(self) -> None:
        self._granted = self.held_bytes
        self.waits_for_room = False
        self._on_room()


def _capacity(size: int, filled: int) -> int:
    """The bytes of a buffer for a frame of which so much has arrived. Powers of two, as the steps of the room are."""
    wanted = 1 << (max(4 * filled, FIRST_BYTES) - 1).bit_length()
    if wanted > SMALL_FRAME_BYTES:
        wanted = max(SMALL_FRAME_BYTES, 1 << filled.bit_length())
    return min(size, wanted)


def explain_size(size: int, start: memoryview) -> str:
    """The reason why no frame can be of this size, for the log; `start` are the bytes that were read as the size."""
    text = bytes(start)
    if text in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE"):
        return "an HTTP request on the Kafka port; HTTP has a port of its own (http.port)"
    if text[:2] == b"\x16\x03":
        return "a TLS handshake on a plaintext port"
    return f"a frame of {size} bytes is not allowed"
