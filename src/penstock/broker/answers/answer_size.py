"""The size of an answer that grows with how often a request names the same thing.

Kafka answers for a group, an offset or a config as often as it is asked for, and so does Penstock. Without a limit a
request of a few kilobytes could have an answer of gigabytes. A client could not receive it anyway: most read at most
100 MB. So the connection of a client that asks for more is closed, and for less while clients that do not read take
up the room for answers.
"""

from __future__ import annotations

from penstock.model.limits import ANSWER_BYTES_MAX, ANSWER_BYTES_UNDER_PRESSURE
from penstock.net.flow_control import FlowControl
from penstock.protocol.kafka.primitives import MalformedRequest


class AnswerSize:
    """The size of one answer, added up while it is made."""

    __slots__ = ("_left",)

    def __init__(self, flow: FlowControl) -> None:
        self._left = min(ANSWER_BYTES_MAX, max(flow.room_bytes, ANSWER_BYTES_UNDER_PRESSURE))

    def add(self, size: int) -> None:
        """Count a part of the answer. MalformedRequest if it has become too large."""
        self._left -= size
        if self._left < 0:
            raise MalformedRequest("a request whose answer would be too large; ask for less at a time")
