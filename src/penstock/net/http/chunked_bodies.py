"""Chunked bodies, which are parsed when the application asks for them, and a little at a time.

h11 takes microseconds for each chunk, of whatever size, and a client may send chunks of one byte: 64 KB of them would
take the event loop for 50 ms, also if they come behind a header that is refused. So none of a chunked body is parsed
before the application has asked for it, and then in turns. Reading waits meanwhile, so that no more than one read of
the transport is kept. A body of known length is one event for each read, and goes its way at once.

Imports the web stack: for modules that are loaded when an application is built, in a thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import h11
from uvicorn.protocols.http.flow_control import FlowControl

from penstock.model.limits import TURN_NS
from penstock.net.http.header_lines import TOO_LONG, HeaderLines

CHUNKS_NS: Final = TURN_NS // 4
"""Of a turn: about a hundred small chunks. Very many connections may have turns in the same round of the loop."""


class TurnedConnection(h11.Connection):
    """A connection without I/O that has events of a chunked body during a turn only."""

    def __init__(self, header_bytes_max: int) -> None:
        super().__init__(h11.SERVER, header_bytes_max)
        self._receive_buffer: HeaderLines = HeaderLines(header_bytes_max)
        self.is_chunked = False
        """Whether such a body is under way."""
        self.has_long_header = False
        """Whether the connection is at its end because of that."""
        self._turn_end_ns = 0
        self._was_cut = False

    def begin_turn(self) -> None:
        self._turn_end_ns = time.perf_counter_ns() + CHUNKS_NS
        self._was_cut = False

    def end_turn(self) -> bool:
        """End the turn; returns whether there may be more to parse."""
        self._turn_end_ns = 0
        return self._was_cut

    def forget(self) -> None:
        """Let go of the bytes that were not parsed: the connection is at its end."""
        self._receive_buffer = HeaderLines()

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.is_chunked and time.perf_counter_ns() > self._turn_end_ns:
            self._was_cut = True
            return h11.NEED_DATA
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.has_long_header = error.error_status_hint == TOO_LONG
            raise
        if type(event) is h11.Request:
            self.is_chunked = any(name == b"transfer-encoding" for name, _ in event.headers)
            self._turn_end_ns = 0  # it has not been asked for yet
        elif type(event) is h11.EndOfMessage:
            self.is_chunked = False
        return event


class BodyFlow(FlowControl):
    """uvicorn's flow control, which it resumes when the application asks for a piece of the body.

    `wait_for_turn` says whether reading is to wait for a turn instead, which then comes to `read_on`.
    """

    def __init__(self, transport: asyncio.Transport, wait_for_turn: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._wait_for_turn = wait_for_turn

    def resume_reading(self) -> None:
        if not self._wait_for_turn():
            self.read_on()

    def forget(self) -> None:
        """Let go of the connection, which is lost: the two would wait for the collector."""
        self._wait_for_turn = _for_ever

    def read_on(self) -> None:
        super().resume_reading()


def _for_ever() -> bool:
    return True
