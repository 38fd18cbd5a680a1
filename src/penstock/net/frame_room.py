"""Room for the frames under way of one class of sizes, taken as their bytes arrive.

A frame under way grows in steps, and each step is granted before its memory is filled. An announced size takes nothing,
so a client has to send what it wants to occupy. Frames that each hold a part must not wait for each other, though:

- The oldest frame is always granted its step, so there is always one that can go on. A client that does not go on with
  it loses its connection (`connection.frame_pace`), and the next frame is the oldest.
- A frame that is complete may keep its room while it is being decoded (`complete`). It needs nothing from others to be
  done with, so the oldest frame may have to wait for that, too.
- The others leave so much room that whichever frame becomes the oldest can be completed: the size of the largest frame
  under way. While a frame is under way, grants to younger ones leave at least its size, and the older ones have given
  theirs back when it becomes the oldest. So the bound holds, unless a single frame is larger than the bound: then it
  goes on alone.

A step that is not granted waits, and the connection is not read meanwhile. Frames that need the least to be complete go
on first, and steps that fit overtake those that do not: this cannot starve a frame, since each becomes the oldest in
the end.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import Final, Protocol

LOOKED_AT: Final = 64
"""Waiting frames that are considered when room is given back: thousands of them must not cost a release much time."""


class GrowingFrame(Protocol):
    """A frame under way. `held_bytes` is changed by its room only."""

    size: int
    held_bytes: int

    def room_granted(self) -> None:
        """Called when a step that had to wait is granted."""
        ...


class FrameRoom:
    """The room of one class. `smallest_reserve` is left to the oldest frame even if all frames are smaller."""

    __slots__ = (
        "_complete_bytes", "_frames", "_reserve", "_smallest_reserve", "_waiting", "bytes_max", "held_bytes",
        "is_crowded",
    )  # fmt: skip

    def __init__(self, bytes_max: int, smallest_reserve: int = 0) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0
        self._complete_bytes = 0
        self.is_crowded = False
        """Whether frames wait for room. Looked at before every read, therefore no property."""
        self._smallest_reserve = self._reserve = smallest_reserve
        self._frames: OrderedDict[GrowingFrame, None] = OrderedDict()  # oldest first
        self._waiting: OrderedDict[GrowingFrame, int] = OrderedDict()  # to how many bytes each wants to grow

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def grow(self, frame: GrowingFrame, to_bytes: int) -> bool:
        """Take room until the frame holds so much. If there is none, False: `room_granted` is called once there is."""
        if frame not in self._frames:
            self._frames[frame] = None
            self._reserve = max(self._reserve, frame.size)
        if self._fits(frame, to_bytes):
            self._take(frame, to_bytes)
            return True
        self._waiting[frame] = to_bytes
        self.is_crowded = True
        return False

    def end(self, frame: GrowingFrame) -> None:
        """Give back the room of a frame that is complete or never will be, and forget it if it waits."""
        if self._waiting.pop(frame, None) is not None:
            self.is_crowded = bool(self._waiting)
        self._forget(frame)
        self._give_back(frame)

    def complete(self, frame: GrowingFrame) -> None:
        """Let others go on behind a frame that is complete; its room is kept until `release`."""
        self._forget(frame)
        self._complete_bytes += frame.held_bytes
        if self._waiting:
            self._wake()

    def release(self, frame: GrowingFrame) -> None:
        """Give back the room of a complete frame that is no longer in memory."""
        self._complete_bytes -= frame.held_bytes
        self._give_back(frame)

    def _forget(self, frame: GrowingFrame) -> None:
        del self._frames[frame]
        if frame.size >= self._reserve:
            self._reserve = max((each.size for each in self._frames), default=0)
            self._reserve = max(self._reserve, self._smallest_reserve)

    def _give_back(self, frame: GrowingFrame) -> None:
        self.held_bytes -= frame.held_bytes
        frame.held_bytes = 0
        if self._waiting:
            self._wake()

    def _fits(self, frame: GrowingFrame, to_bytes: int) -> bool:
        held_bytes = self.held_bytes + to_bytes - frame.held_bytes
        if held_bytes + self._reserve <= self.bytes_max:
            return True
        is_oldest = frame is next(iter(self._frames))
        return is_oldest and (held_bytes <= self.bytes_max or not self._complete_bytes)

    def _take(self, frame: GrowingFrame, to_bytes: int) -> None:
        self.held_bytes += to_bytes - frame.held_bytes
        frame.held_bytes = to_bytes

    def _wake(self) -> None:
        oldest = next(iter(self._frames))
        for frame in (oldest, *sorted(islice(self._waiting, LOOKED_AT), key=_missing_bytes)):
            to_bytes = self._waiting.get(frame)
            if to_bytes is not None and self._fits(frame, to_bytes):
                del self._waiting[frame]
                self.is_crowded = bool(self._waiting)
                self._take(frame, to_bytes)
                frame.room_granted()


def _missing_bytes(frame: GrowingFrame) -> int:
    return frame.size - frame.held_bytes
