"""DATA frames on their way from members to their connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.subscription import Subscription
from penstock.protocol.push.data import data_frame, data_head

FRAME_BYTES = 1 << 20
"""A DATA frame of this many bytes gets no further message."""


class Sink(Protocol):
    """The connection of a member."""

    def send(self, data: bytes) -> None: ...
    def evict(self, reason: str) -> None: ...


class Outgoing:
    """The connections of a subscription's members, and the frames that are sent to them."""

    __slots__ = ("_head", "_next_frame_id", "_touched", "sinks")

    def __init__(self, core: Subscription) -> None:
        self.sinks: dict[Member, Sink] = {}
        self._touched = core.dispatch.touched
        self._head = data_head(core.name, core.topic)
        self._next_frame_id = 1

    def send(self) -> int:
        """Send everything outgoing, in frames of the size that each member asked for. Returns the bytes of messages."""
        touched, sent_bytes = self._touched, 0
        while touched:
            member, _ = touched.popitem()
            items, size = member.take_outgoing()
            sent_bytes += size
            sink = self.sinks.get(member)
            if sink is None:
                continue
            frames = self._frames(items, member.messages_per_frame)
            if size <= FRAME_BYTES:
                sink.send(b"".join(frames))
            else:  # not copied once more
                for frame in frames:
                    sink.send(frame)
        return sent_bytes

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
    """The first items that fit into a number of bytes, at least one."""
    size = 0
    for index, item in enumerate(items):
        size += len(item)
        if size > limit and index:
            return items[:index]
    return items
