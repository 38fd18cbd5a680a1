"""Splitter of the bytes of a connection into frames.

Bytes are received into a scratch buffer shared by all connections, and a frame that lies completely in it is served
from there without a copy: its memory is reused when the call returns. Only a frame that is still incomplete gets a
buffer of its own, into which the socket then writes directly.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.net.flow_control import FlowControl
from penstock.net.incoming import IncomingFrame, explain_size
from penstock.net.shared import ignore
from penstock.protocol.kafka.primitives import INT32, MalformedRequest

Accept = Callable[[memoryview, bool], bool]
"""Takes a frame, and whether there are bytes behind it; it returns False to stop: the connection closes."""


class FrameSplitter:
    """Splits one connection's bytes. `on_waiting` is called when a large frame begins or ceases to wait for memory."""

    __slots__ = ("_flow", "_frame_bytes_max", "_head", "_incoming", "_on_waiting", "_scratch")

    def __init__(
        self, scratch: memoryview, frame_bytes_max: int, flow: FlowControl, on_waiting: Callable[[], None]
    ) -> None:
        self._scratch = scratch
        self._frame_bytes_max = frame_bytes_max
        self._flow = flow
        self._on_waiting = on_waiting
        self._head = b""  # the first bytes of a frame, too few for its size or its protocol
        self._incoming: IncomingFrame | None = None

    @property
    def is_inside_frame(self) -> bool:
        return self._incoming is not None

    @property
    def waits_for_room(self) -> bool:
        return self._incoming is not None and self._incoming.waits_for_room

    def space(self) -> memoryview:
        """The buffer into which the socket writes next."""
        if self._incoming is not None:
            return self._incoming.space()
        start = len(self._head)
        if start:
            self._scratch[:start] = self._head
        return self._scratch[start:]

    def beginning(self, nbytes: int) -> memoryview:
        """Everything received so far, before the first split: by it the protocol is recognised."""
        return self._scratch[: len(self._head) + nbytes]

    def keep(self, beginning: memoryview) -> None:
        """Wait for more bytes before splitting these."""
        self._head = bytes(beginning)

    def received(self, nbytes: int, accept: Accept) -> None:
        """Pass on the frames that are complete now. MalformedRequest for an impossible size."""
        incoming = self._incoming
        if incoming is not None:
            if incoming.received(nbytes):
                self._incoming = None
                accept(incoming.end(), False)
            return
        scratch, largest = self._scratch, self._frame_bytes_max
        position, end = 0, len(self._head) + nbytes
        self._head = b""
        while end - position >= 4:
            (size,) = INT32.unpack_from(scratch, position)
            if not 0 <= size <= largest:
                raise MalformedRequest(explain_size(size, scratch[position : position + 4]))
            start = position + 4
            position = start + size
            if position > end:
                self._incoming = IncomingFrame(size, scratch[start:end], self._flow, self._on_waiting)
                if self._incoming.waits_for_room:
                    self._on_waiting()
                return
            if not accept(scratch[start:position], position < end):
                return
        self._head = bytes(scratch[position:end])

    def close(self) -> None:
        """Give back the memory of a frame that will never be complete, and let go of the connection."""
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        self._on_waiting = ignore
