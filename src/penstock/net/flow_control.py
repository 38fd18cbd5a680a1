"""Flow control: a bound on the memory that the broker holds for all clients together.

Three things take memory on behalf of a connection: frames that are still arriving, requests that wait for an earlier
one, and answers that the client has not read. Each connection has its own bounds; here is the one over all of them. A
connection that is over a bound stops reading from its socket, so that TCP carries the pressure back to the client:
backpressure, not growth.

The bound is divided, so that clients that hoard one of these leave room for the others:

    3/8   requests that wait, and answers that were not read: the backlog
    1/8   frames of up to 1 MiB
    1/2   larger frames

Frames take what has arrived of them, not what they announce (`net.frame_room`). Clients that have not logged in have
none of this room, but a small one beside it (`net.strangers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from penstock.net.frame_room import FrameRoom
from penstock.net.strangers import StrangersRoom

Resume = Callable[[], None]

SMALL_FRAME_BYTES: Final = 1024 * 1024


class Account(Protocol):
    """Where a connection counts what it holds: the `FlowControl`, or `net.strangers.Stranger` before a login."""

    def change(self, delta: int) -> None:
        """Account for bytes that were taken (positive) or given back."""
        ...


class FlowControl:
    """Bytes held for all connections together. `held_bytes` are those of clients that may be served."""

    __slots__ = ("_backlog_bytes_max", "_waiting", "backlog_bytes", "large_frames", "small_frames", "strangers")

    def __init__(self, held_bytes_max: int) -> None:
        self.small_frames = FrameRoom(held_bytes_max // 8, SMALL_FRAME_BYTES)
        self.large_frames = FrameRoom(held_bytes_max // 2)
        self.strangers = StrangersRoom.beside(held_bytes_max)
        self.backlog_bytes = 0
        self._backlog_bytes_max = held_bytes_max * 3 // 8
        self._waiting: dict[Resume, None] = {}  # each once, in order of arrival

    @property
    def held_bytes(self) -> int:
        return self.backlog_bytes + self.small_frames.held_bytes + self.large_frames.held_bytes

    @property
    def exhausted(self) -> bool:
        """Whether the backlog is above its part of the bound."""
        return self.backlog_bytes > self._backlog_bytes_max

    @property
    def room_bytes(self) -> int:
        """The room for answers."""
        return max(0, self._backlog_bytes_max - self.backlog_bytes)

    def change(self, delta: int) -> None:
        """Account for bytes of the backlog that were taken (positive) or given back; waiters for room are woken."""
        self.backlog_bytes += delta
        if delta < 0 and self._waiting and not self.exhausted:
            waiting, self._waiting = self._waiting, {}
            for resume in waiting:
                resume()

    def wait_for_room(self, resume: Resume) -> None:
        self._waiting[resume] = None

    @property
    def is_crowded(self) -> bool:
        """Whether frames wait for room."""
        return self.small_frames.is_crowded or self.large_frames.is_crowded

    @property
    def waiting_count(self) -> int:
        """Number of frames that wait for room."""
        return self.small_frames.waiting_count + self.large_frames.waiting_count

    def room_of(self, frame_bytes: int) -> FrameRoom:
        """The room of a frame that announces this size."""
        return self.small_frames if frame_bytes <= SMALL_FRAME_BYTES else self.large_frames
