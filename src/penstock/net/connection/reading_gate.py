"""The gate of a connection's reads: open while there is room for more bytes and the client is not muted.

Bytes that are not read stay with the client: TCP carries the pressure back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from penstock.net.connection.answer_line import AnswerLine
from penstock.net.connection.frame_splitter import FrameSplitter
from penstock.net.connection.mute import Mute
from penstock.net.connection.request_queue import RequestQueue
from penstock.net.connection.shared import Shared, ignore


class ReadingGate:
    """Pauses and resumes a transport. `on_unmuted` is called when the client may be served again."""

    __slots__ = ("_answers", "_excused_seconds", "_excused_since", "_is_open", "_mute", "_on_unmuted", "_paused",
                 "_queue", "_shared", "_splitter", "_transport", "muted")  # fmt: skip

    def __init__(
        self,
        transport: asyncio.Transport,
        shared: Shared,
        splitter: FrameSplitter,
        queue: RequestQueue,
        answers: AnswerLine,
        on_unmuted: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._shared = shared
        self._splitter = splitter
        self._queue = queue
        self._answers = answers
        self._on_unmuted = on_unmuted
        self._mute: Mute | None = None
        self.muted = False
        self._paused = False
        self._excused_since: float | None = None  # while it is our decision not to read
        self._excused_seconds = 0.0
        self._is_open = True  # until the connection closes or the node stops

    def adjust(self) -> None:
        """Read from the socket only while there is room for more bytes."""
        if not self._is_open:
            return
        limits, flow = self._shared.limits, self._shared.flow
        queue, unread = self._queue, self._answers.unread_bytes
        excused = (
            self.muted
            or queue.held_bytes > limits.queued_bytes_max
            or len(queue.frames) >= limits.in_flight_max
            or self._splitter.waits_for_room
        )
        full = excused or unread > limits.unread_bytes_max
        if not full and flow.exhausted and (queue.frames or unread):
            full = excused = True
            flow.wait_for_room(self.adjust)
        if excused is (self._excused_since is None):
            self._excuse(excused)
        if full and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        elif not full and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _excuse(self, excused: bool) -> None:
        """Note that the client cannot help it that nothing is read, or that this is over."""
        now = self._shared.clock()
        if self._excused_since is not None:
            self._excused_seconds += now - self._excused_since
        self._excused_since = now if excused else None

    def reading_clock(self, now: float) -> float:
        """The time, without the spans in which nothing was read and the client could not help it.

        The clock of a client that does not read its answers goes on: its requests wait for nobody but itself.
        """
        since = self._excused_since
        return (now if since is None else since) - self._excused_seconds

    def mute(self, seconds: float) -> None:
        """Take no further request for a while; answers still go out. No effect while the node stops."""
        if self._mute is not None:
            self._mute.extend(seconds)
        else:
            self._begin_mute(seconds, self._unmute)

    def refuse(self, seconds: float, close: Callable[[], None]) -> None:
        """Read nothing, and close after a while."""
        self._begin_mute(seconds, close)

    def _begin_mute(self, seconds: float, on_end: Callable[[], None]) -> None:
        if self._is_open:
            self._mute = Mute(self._transport, seconds, on_end)
            self.muted = True
            self._shared.muted += 1
            self.adjust()

    def _unmute(self) -> None:
        self._end_mute()
        self._on_unmuted()

    def _end_mute(self) -> None:
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
            self.muted = False
            self._shared.muted -= 1

    def stop(self) -> None:
        """Read no more, because the node stops; requests that were read are answered."""
        if self._is_open and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._is_open = False
        if self._mute is not None:
            self._unmute()

    def close(self) -> None:
        """Leave the transport alone from now on, because the connection closes."""
        self._is_open = False

    def release(self) -> None:
        """End a mute and let go of the connection, because it has ended."""
        self._is_open = False
        self._end_mute()
        self._on_unmuted = ignore
