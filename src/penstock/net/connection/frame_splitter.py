"""Splitter of the bytes of a connection into frames.

Bytes are received into a scratch buffer shared by all connections, and a frame that lies completely in it is served
from there without a copy: its memory is reused when the call returns. Only a frame that is still incomplete gets a
buffer of its own, into which the socket then writes directly.

Frames of a stranger, which has not logged in, are short. An incomplete one is kept as it is, so that a stranger holds
what it has sent and no more, and is put back in front of its next bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.net.connection.incoming import FREE_BYTES, IncomingFrame, explain_size
from penstock.net.connection.shared import ignore
from penstock.net.flow_control import SMALL_FRAME_BYTES, FlowControl
from penstock.net.strangers import Stranger
from penstock.protocol.kafka.primitives import INT32, MalformedRequest

Accept = Callable[[memoryview, bool], bool]
"""Takes a frame, and whether there are bytes behind it; it returns False to stop: the connection closes."""


class FrameSplitter:
    """Splits one connection's bytes. `on_waiting` is called when a frame begins or ceases to wait for memory.

    `is_decoding` says whether the frame that was just accepted is still needed. `frame_bytes_max` is the size of the
    largest frame that the client may send now; `served` is the large frame that still has its room.
    """

    __slots__ = ("_flow", "_head", "_incoming", "_is_decoding", "_large_frames", "_on_waiting", "_scratch",
                 "_small_frames", "_stranger", "frame_bytes_max", "served")  # fmt: skip

    def __init__(
        self,
        scratch: memoryview,
        frame_bytes_max: int,
        flow: FlowControl,
        on_waiting: Callable[[], None],
        is_decoding: Callable[[], bool],
    ) -> None:
        self._scratch = scratch
        self.frame_bytes_max = frame_bytes_max
        self._flow = flow
        self._small_frames, self._large_frames = flow.small_frames, flow.large_frames
        self._on_waiting = on_waiting
        self._is_decoding = is_decoding
        self.served: IncomingFrame | None = None
        self._head = b""  # the first bytes of a frame, too few for its size or its protocol
        self._incoming: IncomingFrame | None = None
        self._stranger: Stranger | None = None

    def begin_strange(self, stranger: Stranger, frame_bytes_max: int) -> None:
        """Take the frames of a client that has to log in first."""
        self._stranger = stranger
        self.frame_bytes_max = frame_bytes_max
        self._scratch = self._scratch[: INT32.size + frame_bytes_max]  # the longest frame, and less than a second one

    def end_strange(self, scratch: memoryview, frame_bytes_max: int) -> None:
        """Take frames of the full size: the client has logged in."""
        self._stranger = None
        self.frame_bytes_max = frame_bytes_max
        self._scratch = scratch

    @property
    def waits_for_room(self) -> bool:
        return self._incoming is not None and self._incoming.waits_for_room

    def is_too_slow(self, moment: float, spare_seconds: float) -> bool:
        """Whether the bytes of a frame under way come too slowly; `moment` is on the connection's reading clock."""
        return self._incoming is not None and self._incoming.is_too_slow(moment, spare_seconds)

    def space(self) -> memoryview:
        """The buffer into which the socket writes next."""
        if self._incoming is not None:
            return self._incoming.space()
        start = len(self._head)
        if start:
            self._scratch[:start] = self._head
        if self._small_frames.is_crowded or self._large_frames.is_crowded:
            return self._scratch[start : start + FREE_BYTES]  # what is read now should not have to wait for room
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
                if incoming.size > SMALL_FRAME_BYTES:
                    self._accept_large(incoming, accept)
                else:
                    accept(incoming.end(), False)
            elif incoming.waits_for_room:
                self._on_waiting()
            return
        scratch, largest = self._scratch, self.frame_bytes_max
        position, end = 0, len(self._head) + nbytes
        self._head = b""
        while end - position >= 4:
            (size,) = INT32.unpack_from(scratch, position)
            if not 0 <= size <= largest:
                raise MalformedRequest(explain_size(size, scratch[position : position + 4]))
            start = position + 4
            position = start + size
            if position > end:
                if self._stranger is not None:
                    self._head = bytes(scratch[start - INT32.size : end])
                    self._stranger.hold_frame(len(self._head))
                    return
                self._incoming = IncomingFrame(size, scratch[start:end], self._flow, self._on_waiting)
                if self._incoming.waits_for_room:
                    self._on_waiting()
                return
            if not accept(scratch[start:position], position < end):
                return
        self._head = bytes(scratch[position:end])

    def _accept_large(self, frame: IncomingFrame, accept: Accept) -> None:
        """Pass a large frame on; if it is being decoded then, it keeps its room until `release`."""
        self.served = frame
        accept(frame.complete(), False)
        if not self._is_decoding():
            self.release()

    def release(self) -> None:
        """Give back the room of the large frame that was served last, if it has not been given back."""
        if self.served is not None:
            self.served.release()
            self.served = None

    def close(self) -> None:
        """Give back the memory of a frame that will never be complete, and let go of the connection."""
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        if self.served is not None:
            self.release()
        self._head = b""
        self._stranger = None
        self._on_waiting = ignore
        self._is_decoding = _never


def _never() -> bool:
    return False
