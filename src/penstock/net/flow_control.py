"""Flow control: a bound on the memory that the broker holds for all clients together.

Three things take memory on behalf of a connection: large frames that are still arriving, requests that wait for an
earlier one, and answers that the client has not read. Each connection has its own bounds; here is the one over all of
them. A connection that is over a bound stops reading from its socket, so that TCP carries the pressure back to the
client: backpressure, not growth.

A large frame reserves all of its room before it is received, in order of arrival: frames that each hold a part could
deadlock waiting for each other. A single frame is let in even if it is larger than the whole bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Resume = Callable[[], None]


class FlowControl:
    """Bytes held for all connections together."""

    __slots__ = ("_frame_bytes", "_frames_waiting", "_waiting", "held_bytes", "held_bytes_max")

    def __init__(self, held_bytes_max: int) -> None:
        self.held_bytes = 0
        self.held_bytes_max = held_bytes_max
        self._frame_bytes = 0  # the part of held_bytes that large frames have taken
        self._waiting: dict[Resume, None] = {}  # each once, in order of arrival
        self._frames_waiting: deque[tuple[int, Resume]] = deque()

    @property
    def exhausted(self) -> bool:
        return self.held_bytes > self.held_bytes_max

    @property
    def room_bytes(self) -> int:
        return max(0, self.held_bytes_max - self.held_bytes)

    def change(self, delta: int) -> None:
        """Account for bytes that were taken (positive) or given back; below the bound, waiters for room are woken."""
        self.held_bytes += delta
        if delta < 0:
            self._wake()

    def wait_for_room(self, resume: Resume) -> None:
        self._waiting[resume] = None

    def take_frame(self, size: int, resume: Resume) -> bool:
        """Reserve the room of a large frame. If there is none, False; `resume` is called once it has been reserved."""
        if self._frames_waiting or not self._fits(size):
            self._frames_waiting.append((size, resume))
            return False
        self._take(size)
        return True

    def give_frame_back(self, size: int) -> None:
        self._frame_bytes -= size
        self.change(-size)

    def forget_frame(self, resume: Resume) -> bool:
        """Forget a connection that waits for room. Returns whether it was still waiting."""
        for item in self._frames_waiting:
            if item[1] == resume:
                self._frames_waiting.remove(item)
                return True
        return False

    def _fits(self, size: int) -> bool:
        return self._frame_bytes == 0 or self.held_bytes + size <= self.held_bytes_max

    def _take(self, size: int) -> None:
        self._frame_bytes += size
        self.held_bytes += size

    def _wake(self) -> None:
        while self._frames_waiting and self._fits(self._frames_waiting[0][0]):
            size, resume = self._frames_waiting.popleft()
            self._take(size)
            resume()
        if self._waiting and not self.exhausted:
            waiting, self._waiting = self._waiting, {}
            for resume in waiting:
                resume()
