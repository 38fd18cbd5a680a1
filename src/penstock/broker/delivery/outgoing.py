"""From what members were dealt to frames on their connections."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.desk import Desk
from penstock.broker.delivery.surroundings import Sink
from penstock.protocol.push.data import data_frame, data_head

FRAME_BYTES = 1 << 20  # a DATA frame gets no further message beyond this


class Outgoing:
    """`sinks` are the members' connections; `sent_bytes` is reset by whoever counts."""

    __slots__ = ("_head", "_next_frame_id", "_touched", "sent_bytes", "sinks")

    def __init__(self, desk: Desk) -> None:
        self.sinks: dict[Member, Sink] = {}
        self.sent_bytes = 0
        self._touched = desk.core.state.touched
        self._head = data_head(desk.name, desk.topic)
        self._next_frame_id = 1

    def send(self) -> None:
        """Everything outgoing, in frames of what the member has asked for."""
        touched = self._touched
        while touched:
            member, _ = touched.popitem()
            items, member.outgoing = member.outgoing, []
            self.sent_bytes += member.outgoing_bytes
            member.outgoing_bytes = 0
            sink = self.sinks.get(member)
            if sink is not None:
                sink.send(b"".join(self._frames(items, member.messages_per_frame)))

    def _frames(self, items: list[bytes], per_frame: int) -> Iterator[bytes]:
        start = 0
        while start < len(items):
            part = items[start : start + per_frame]
            if sum(map(len, part)) > FRAME_BYTES:
                part = _up_to(part, FRAME_BYTES)
            yield data_frame(self._head, part, self._next_frame_id)
            self._next_frame_id += 1
            start += len(part)


def _up_to(items: list[bytes], limit: int) -> list[bytes]:
    """The first ones, within a number of bytes; one at least."""
    size = 0
    for index, item in enumerate(items):
        size += len(item)
        if size > limit and index:
            return items[:index]
    return items
