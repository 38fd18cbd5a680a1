"""How long an HTTP client may take for its part of a request: to send the header and the body, to read the answer.

A client that is slow on purpose holds a connection, and memory, with hardly any work of its own. So a header has a time
limit, and bodies and answers a least rate. The watch is looked at now and then; a request costs it nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

BYTES_PER_SECOND_MIN: Final = 500
"""Less than the slowest modem; the least rate of web servers (Apache's mod_reqtimeout) is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTimes:
    header_s: float = 10.0
    """For the first header of a connection, and for each later one from its first byte on."""
    idle_s: float = 5.0
    """Between an answer and the next request."""
    stall_s: float = 30.0
    """For which a body or an answer may move at less than the least rate."""


class Waiting(enum.StrEnum):
    """The part of a request for which the server waits; it is in the client's hand."""

    NOTHING = ""
    HEADER = "header"
    BODY = "body"
    ANSWER = "answer"


class StallWatch:
    """The watch over one connection."""

    __slots__ = ("_bytes", "_request", "_since", "_times", "_waiting")

    def __init__(self, times: HttpTimes, now: float) -> None:
        self._times = times
        self._waiting = Waiting.NOTHING
        self._request: object = None
        self._since = now
        self._bytes = 0

    def is_overdue(self, now: float, waiting: Waiting, request: object, moved_bytes: int) -> bool:
        """Whether the client has been too slow. `request` tells requests apart; `moved_bytes` counts those of the
        body or the answer, from any start on.
        """
        if waiting is not self._waiting or request is not self._request:
            self._waiting, self._request = waiting, request
            self._since, self._bytes = now, moved_bytes
            return False
        seconds = now - self._since
        if waiting is Waiting.NOTHING:
            return False
        if waiting is Waiting.HEADER:
            return seconds > self._times.header_s
        if seconds < self._times.stall_s:
            return False
        if moved_bytes - self._bytes < BYTES_PER_SECOND_MIN * seconds:
            return True
        self._since, self._bytes = now, moved_bytes
        return False
