"""Room for strangers: a bound of its own on the memory held for clients that have not logged in, at all doors.

What strangers send takes nothing from the room of clients that have logged in (`net.flow_control`), so it need not be
shared fairly with them: no stranger ever waits. Where the room is used up, the stranger that has held some of it for
longest is closed. A login is a few short messages, which mostly arrive whole. So whoever is in the room for long is
slow or does not mean to log in, and a crowd would have to fill all of the room while a message of another arrives.

The first kilobyte of each stranger is free: logins with passwords need less, and are never closed for want of room.
"""

from __future__ import annotations

import logging
from typing import Final

from penstock.model.limits import FRAME_BYTES_BEFORE_LOGIN_MAX, KIB
from penstock.net.admission.ticket import Ticket
from penstock.observability.repeats import Repeats

logger = logging.getLogger(__name__)

ROOM_SHARE: Final = 32
"""The room is this part of what the other clients have, and beside it: 16 MiB by default."""
FRAMES_MIN: Final = 16
"""It has room for so many of the longest frames at least, however little the others have."""
FREE_BYTES: Final = 1 * KIB
NO_MEMORY: Final = "memory"


class StrangersRoom:
    """The room of all strangers of the node."""

    __slots__ = ("_held", "_repeats", "bytes_max", "held_bytes")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0
        self._held: dict[Stranger, int] = {}  # those that are in the room, the one that is for longest first
        self._repeats = Repeats(logger)

    @classmethod
    def beside(cls, held_bytes_max: int) -> StrangersRoom:
        """The room beside that of clients that have logged in, which is so large."""
        return cls(max(held_bytes_max // ROOM_SHARE, FRAMES_MIN * FRAME_BYTES_BEFORE_LOGIN_MAX))

    def hold(self, stranger: Stranger, held_bytes: int) -> None:
        """Note how much a stranger holds. If that is too much for the room, others give way, or the stranger itself."""
        before = self._held.get(stranger, 0)
        if held_bytes:
            self._held[stranger] = held_bytes
        elif before:
            del self._held[stranger]
        self.held_bytes += held_bytes - before
        while self.held_bytes > self.bytes_max:
            self._drop(next(iter(self._held)))

    def leave(self, stranger: Stranger) -> None:
        """Forget a stranger and what it holds."""
        self.held_bytes -= self._held.pop(stranger, 0)

    def _drop(self, stranger: Stranger) -> None:
        stranger.close()
        self._repeats.warning(
            NO_MEMORY,
            "clients that have not logged in hold more than %d bytes (a part of limits.queued_bytes_total_max): those"
            " whose requests have been under way for longest are closed; the last one is from %s",
            self.bytes_max,
            stranger.ticket.host,
        )
        stranger.ticket.door.drop(stranger.ticket, NO_MEMORY)


class Stranger:
    """What one stranger holds, until its client has logged in or its connection ends.

    `change` is for requests that wait and for answers that were not read, as `FlowControl.change` is.
    """

    __slots__ = ("_frame_bytes", "_held_bytes", "_is_open", "_room", "_served_bytes", "ticket")

    def __init__(self, room: StrangersRoom, ticket: Ticket) -> None:
        self._room = room
        self.ticket = ticket
        self._is_open = True
        self._held_bytes = 0
        self._frame_bytes = 0
        self._served_bytes = 0

    def change(self, delta: int) -> None:
        if delta and self._is_open:
            self._held_bytes += delta
            self._room.hold(self, max(0, self._held_bytes - FREE_BYTES))

    def hold_frame(self, frame_bytes: int) -> None:
        """Note how much of a frame under way has arrived; 0: there is none."""
        delta, self._frame_bytes = frame_bytes - self._frame_bytes, frame_bytes
        self.change(delta)

    def hold_served(self, served_bytes: int) -> None:
        """Note the size of what is being served and takes its time, such as the check of a password.

        It counts until the next one: behind a login that is done the connection ends, or the client is no stranger.
        """
        delta, self._served_bytes = served_bytes - self._served_bytes, served_bytes
        self.change(delta)

    def close(self) -> None:
        """Leave the room. What is given back later counts no more. May be called again."""
        self._is_open = False
        self._room.leave(self)
