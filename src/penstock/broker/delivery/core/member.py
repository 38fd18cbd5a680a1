"""One connection's part in one subscription: how many messages it may have, and what is on its way to it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Waiting(NamedTuple):
    """A message that belongs to a member without credit (delivery by key)."""

    flight: Flight
    offset: int
    item: bytes


class Member:
    """`outgoing` are encoded items that the driver has to send; they count as in flight already."""

    __slots__ = (
        "client_id", "credit", "full_credit", "host", "in_flight", "is_paused", "is_queued", "member_id",
        "messages_per_frame", "outgoing", "outgoing_bytes", "reset_sent", "said_ready", "waiting",
    )  # fmt: skip

    def __init__(
        self, member_id: str, *, client_id: str = "", host: str = "", credit: int = 100, messages_per_frame: int = 10
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.credit = self.full_credit = credit  # the former is lower while there are suspects
        self.messages_per_frame = messages_per_frame
        self.in_flight = 0
        self.is_paused = False  # its connection has enough to send already
        self.is_queued = False  # among those whose turn comes
        self.outgoing: list[bytes] = []
        self.outgoing_bytes = 0
        self.waiting: deque[Waiting] = deque()
        self.reset_sent = False
        self.said_ready = False

    @property
    def room(self) -> int:
        """How many messages it may be sent now."""
        return 0 if self.is_paused else self.credit - self.in_flight


class Flight:
    """Messages of one partition that were sent to a member together, or with `member` None wait to be sent again.

    `previous` are those who had them before: their answers count, too, if they come late. `slot` is that of the key, if
    the subscription goes by keys. `count` says how often they were sent, `losses` how often nobody answered.
    """

    __slots__ = ("count", "deadline_ms", "left", "losses", "member", "offsets", "partition", "previous", "slot")

    def __init__(
        self,
        member: Member | None,
        previous: tuple[Member, ...],
        partition: int,
        offsets: list[int],
        count: int,
        deadline_ms: int,
        slot: int = -1,
        losses: int = 0,
    ) -> None:
        self.member = member
        self.previous = previous
        self.partition = partition
        self.offsets = offsets
        self.left = len(offsets)  # not answered
        self.count = count
        self.deadline_ms = deadline_ms
        self.slot = slot
        self.losses = losses
