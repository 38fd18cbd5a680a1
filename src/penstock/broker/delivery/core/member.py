"""Members of a subscription: the credit of each connection, and the queue of members with room for messages."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from penstock.broker.progress.acquisition import Acquisition
from penstock.broker.progress.partition_cursor import PartitionCursor


class Waiting(NamedTuple):
    """A message that waits for credit of the member that owns its key."""

    cursor: MemberCursor
    offset: int
    message: Message
    slot: int
    item: bytes

    @property
    def is_current(self) -> bool:
        """Whether the message is still to be sent: it was neither answered nor skipped by hand while it waited."""
        return self.cursor.get(self.offset) is self.message


class Member:
    """One connection's part in one subscription.

    `outgoing` are encoded items for the driver to send; they count as in flight already. `credit` is below
    `full_credit` while a message is suspected of killing its members.
    """

    __slots__ = (
        "client_id", "credit", "full_credit", "host", "in_flight", "is_blocked", "is_queued", "member_id",
        "messages_per_frame", "outgoing", "outgoing_bytes", "owner", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        member_id: str,
        *,
        client_id: str = "",
        host: str = "",
        owner: str = "",
        credit: int = 100,
        messages_per_frame: int = 10,
        is_blocked: bool = False,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.owner = owner
        self.credit = self.full_credit = credit
        self.messages_per_frame = messages_per_frame
        self.in_flight = 0
        self.is_blocked = is_blocked  # the connection has as much to send as it may, or has gone
        self.is_queued = False
        self.outgoing: list[bytes] = []
        self.outgoing_bytes = 0
        self.waiting: deque[Waiting] = deque()

    @property
    def room(self) -> int:
        """How many messages may be sent to the member now."""
        return 0 if self.is_blocked else self.credit - self.in_flight

    def put(self, item: bytes) -> None:
        """Add one outgoing message."""
        self.in_flight += 1
        self.outgoing.append(item)
        self.outgoing_bytes += len(item)

    def answered(self, count: int) -> None:
        """Return credit for messages that the member no longer has: answered, released, or skipped by hand."""
        self.in_flight -= count

    def take_outgoing(self) -> tuple[list[bytes], int]:
        """Items to be sent, and their size."""
        items, size = self.outgoing, self.outgoing_bytes
        self.outgoing, self.outgoing_bytes = [], 0
        return items, size


class MemberQueue(deque[Member]):
    """Round-robin queue of members with room for messages; the one that has waited longest comes first.

    A member is in it at most once (`Member.is_queued`), and leaves it when it is first and has no room left.
    """

    __slots__ = ()

    def add(self, member: Member) -> None:
        if not member.is_queued:
            member.is_queued = True
            self.append(member)

    def discard(self, member: Member) -> None:
        if member.is_queued:
            self.remove(member)
            member.is_queued = False

    def drop_full(self) -> None:
        while self and self[0].room <= 0:
            self.popleft().is_queued = False

    def next(self, other_than: Member | None = None) -> Member | None:
        """The member whose turn it is; it goes to the end of the queue. `other_than` is passed over if it can be."""
        while self and self[0].room <= 0:
            self.popleft().is_queued = False
        if not self:
            return None
        if self[0] is other_than and len(self) > 1:
            self.rotate(-1)
            while self[0].room <= 0:
                self.popleft().is_queued = False
        member = self[0]
        self.rotate(-1)
        return member


MemberCursor = PartitionCursor[Member]
Message = Acquisition[Member]
