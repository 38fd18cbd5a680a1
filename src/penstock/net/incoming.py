"""A request whose bytes are still arriving, with a buffer of its own into which the socket writes.

A large one reserves its room first (`net.flow_control`), and gets memory as its bytes arrive: an announced size alone
allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.net.flow_control import FlowControl

SMALL_FRAME_BYTES = 1024 * 1024


class IncomingFrame:
    """One incomplete frame. `on_room` is called if it had to wait for room and has got it."""

    __slots__ = ("_buffer", "_filled", "_flow", "_on_room", "_size", "waits_for_room")

    def __init__(self, size: int, part: memoryview, flow: FlowControl, on_room: Callable[[], None]) -> None:
        self._size = size
        self._flow = flow
        self._on_room = on_room
        self._buffer = bytearray(min(size, SMALL_FRAME_BYTES))
        self._filled = len(part)
        self._buffer[: self._filled] = part
        self.waits_for_room = size > SMALL_FRAME_BYTES and not flow.take_frame(size, self._has_room)

    def space(self) -> memoryview:
        """The buffer for the next bytes."""
        if self._filled == len(self._buffer):
            grown = bytearray(min(self._size, 2 * len(self._buffer)))
            grown[: self._filled] = self._buffer
            self._buffer = grown
        return memoryview(self._buffer)[self._filled :]

    def received(self, size: int) -> bool:
        """Note that so many bytes have arrived. Returns whether the frame is complete."""
        self._filled += size
        return self._filled == self._size

    def end(self) -> memoryview:
        """Give the room back, of a frame that is complete or never will be. Returns the bytes that have arrived."""
        if self._size > SMALL_FRAME_BYTES:
            if not (self.waits_for_room and self._flow.forget_frame(self._has_room)):
                self._flow.give_frame_back(self._size)
            self.waits_for_room = False
        return memoryview(self._buffer)

    def _has_room(self) -> None:
        self.waits_for_room = False
        self._on_room()


def explain_size(size: int, start: memoryview) -> str:
    """The reason why no frame can be of this size, for the log; `start` are the bytes that were read as the size."""
    text = bytes(start)
    if text in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE"):
        return "an HTTP request on the Kafka port; HTTP has a port of its own (http.port)"
    if text[:2] == b"\x16\x03":
        return "a TLS handshake on a plaintext port"
    return f"a frame of {size} bytes is not allowed"
