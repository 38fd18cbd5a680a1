"""Whether a connection is read from: only while there is room for what would arrive, and its client is not muted.

What is not read stays with the client: TCP carries the pressure back.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.net.answer_line import AnswerLine
from penstock.net.incoming import IncomingFrame
from penstock.net.mute import Mute


class ReadingGate(AnswerLine):
    """What `Connection` is to those who hold it up. The fields belong to `Connection`."""

    __slots__ = ("_incoming", "_mute", "_paused", "_queued_bytes", "_stopped")

    _incoming: IncomingFrame | None
    _mute: Mute | None
    _paused: bool
    _queued_bytes: int
    _stopped: bool

    def _adjust_reading(self) -> None:
        """Read from the socket only while there is room for what would arrive."""
        if self._closing or self._stopped:
            return
        limits = self._shared.limits
        full = (
            self._waits_for_room
            or self._mute is not None
            or self._queued_bytes > limits.queued_bytes_max
            or len(self._queue) >= limits.in_flight_max
            or self._unread_bytes > limits.unread_bytes_max
        )
        if not full and self._shared.flow.exhausted and (self._queue or self._unread_bytes):
            full = True
            self._shared.flow.wait_for_room(self._adjust_reading)
        if full and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        elif not full and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def mute(self, seconds: float) -> None:
        """Take no further request for a while; answers go out. Not while the node stops: it answers what it has."""
        if self._mute is not None:
            self._mute.extend(seconds)
        else:
            self._begin_mute(seconds, self._unmute)

    def refuse(self, seconds: float) -> None:
        """Close it after a while without having read anything."""
        self._begin_mute(seconds, self.close)

    def _begin_mute(self, seconds: float, on_end: Callable[[], None]) -> None:
        if not self._closing and not self._stopped:
            self._mute = Mute(self._transport, seconds, on_end)
            self._shared.muted += 1
            self._adjust_reading()

    def _unmute(self) -> None:
        self._end_mute()
        self.last_active = self._shared.clock()
        self._work_off()

    def _end_mute(self) -> None:
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
            self._shared.muted -= 1

    @property
    def muted(self) -> bool:
        return self._mute is not None

    @property
    def _waits_for_room(self) -> bool:
        return self._incoming is not None and self._incoming.waits_for_room

    def stalled_since(self, moment: float) -> bool:
        """It has begun a request and sent no byte of it since; not for want of room on our side, nor muted by us."""
        return (
            self._incoming is not None and not self._waits_for_room and self._mute is None and self.last_active < moment
        )

    def stop_reading(self) -> None:
        """Shutdown: what has been read is answered, nothing more is taken."""
        self._stopped = True
        if not self._closing and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        if self._mute is not None:
            self._unmute()
