"""The bytes of one encrypted stream on their way to the part that decrypts them, some at a time.

What a stream has ready is read and decrypted in one turn of the event loop. A record costs six microseconds, whatever
is in it, and TLS bounds neither the number of small ones nor that of changes of keys, which have 27 bytes: a megabyte
has 40,000 of them. So what is taken in a turn is bounded, and streams of many small records take turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

CHUNK_BYTES_MAX: Final = 256 << 10
RECORD_BYTES_LARGE: Final = 1 << 10
"""Of records of this size on average more is taken at once than `USUAL_CHUNK_BYTES`: they cost little for each byte."""
USUAL_CHUNK_BYTES: Final = 64 << 10
FIRST_CHUNK_BYTES: Final = 8 << 10
"""Of a stream of which nothing is known yet; each chunk may be twice as large as the one before it."""
SMALL_CHUNK_BYTES: Final = 4 << 10
"""Of a stream that has had many small records: about a millisecond of them."""
RECORDS_MANY: Final = 64
"""From so many on, records count as small if they have less than `RECORD_BYTES_SMALL` on average."""
RECORD_BYTES_SMALL: Final = 64
RECORDS_MAX: Final = 256
"""After so many the next turn is another stream's."""
LANE_SECONDS: Final = 0.005
"""Between two chunks of all streams of small records together."""
_HEAD_BYTES: Final = 5


class Decrypting(Protocol):
    """The protocol that decrypts: that of the event loop."""

    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...
    def eof_received(self) -> bool | None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...
    def pause_writing(self) -> None: ...
    def resume_writing(self) -> None: ...


class Lane:
    """Streams of many small records, one after the other."""

    def __init__(self) -> None:
        self._streams: deque[PacedStream] = deque()
        self._moves = False

    def add(self, stream: PacedStream) -> None:
        self._streams.append(stream)
        if not self._moves:
            self._moves = True
            asyncio.get_running_loop().call_later(LANE_SECONDS, self._move)

    def _move(self) -> None:
        self._streams.popleft().go_on()
        self._moves = bool(self._streams)
        if self._moves:
            asyncio.get_running_loop().call_later(LANE_SECONDS, self._move)


class PacedStream(asyncio.BufferedProtocol):
    """Between a stream's transport and what decrypts it."""

    def __init__(self, transport: asyncio.Transport, decrypting: Decrypting, lane: Lane) -> None:
        self._transport, self._decrypting, self._lane = transport, decrypting, lane
        self._limit = FIRST_CHUNK_BYTES
        self._skip = 0  # bytes until the next record begins; less than 0 if some of its head have come
        self._head = b""
        self._view = memoryview(b"")
        self._is_paused = self._is_held = False

    def get_buffer(self, sizehint: int) -> memoryview:
        self._view = self._decrypting.get_buffer(sizehint)[: self._limit]
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        records = self._count_records(nbytes)
        self._decrypting.buffer_updated(nbytes)
        if records >= RECORDS_MANY and nbytes < records * RECORD_BYTES_SMALL:
            self._limit = SMALL_CHUNK_BYTES
            self._pause()
            self._lane.add(self)
        elif records >= RECORDS_MAX:
            self._limit = USUAL_CHUNK_BYTES
            self._pause()
            asyncio.get_running_loop().call_soon(self.go_on)
        elif self._limit < CHUNK_BYTES_MAX:
            is_large = nbytes >= records * RECORD_BYTES_LARGE
            self._limit = min(2 * self._limit, CHUNK_BYTES_MAX if is_large else USUAL_CHUNK_BYTES)

    def _count_records(self, nbytes: int) -> int:
        """The records that begin in what has come."""
        view, at, records = self._view, self._skip, 0
        if self._head:
            at = _HEAD_BYTES - len(self._head)
            head = self._head + bytes(view[: min(at, nbytes)])
            if len(head) < _HEAD_BYTES:
                self._head = head
                return 0
            self._head = b""
            at += head[3] << 8 | head[4]
        behind_heads = nbytes - _HEAD_BYTES
        while at <= behind_heads:
            records += 1
            at += _HEAD_BYTES + (view[at + 3] << 8 | view[at + 4])
        if at < nbytes:
            records += 1
            self._head = bytes(view[at:nbytes])
            self._skip = 0
        else:
            self._skip = at - nbytes
        return records

    # --- pauses ------------------------------------------------------------------------------------------------------

    def _pause(self) -> None:
        """Take nothing more for now. If what decrypts has paused the stream, it is for that to go on."""
        if self._transport.is_reading():
            self._is_paused = True
            self._transport.pause_reading()

    def go_on(self) -> None:
        if self._is_paused and not self._is_held:
            self._is_paused = False
            self._transport.resume_reading()

    def hold(self) -> None:
        """Take nothing until `release`."""
        self._is_held = True
        self._pause()

    def release(self) -> None:
        self._is_held = False
        self.go_on()

    def step(self) -> None:
        """Have the other side look again at what it has: a step of the handshake was done elsewhere."""
        self._decrypting.buffer_updated(0)

    # --- what else happens to a stream -------------------------------------------------------------------------------

    def eof_received(self) -> bool | None:
        return self._decrypting.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._decrypting.connection_lost(exc)

    def pause_writing(self) -> None:
        self._decrypting.pause_writing()

    def resume_writing(self) -> None:
        self._decrypting.resume_writing()
