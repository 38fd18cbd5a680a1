"""The line of members with room: who has waited longest comes first."""

from __future__ import annotations

from collections import deque

from penstock.broker.delivery.core.member import Member


class Turns(deque[Member]):
    """A member is in it at most once (`Member.is_queued`). One that has no room any more leaves when it is first."""

    __slots__ = ()

    def queue_up(self, member: Member) -> None:
        if not member.is_queued:
            member.is_queued = True
            self.append(member)

    def give_up(self, member: Member) -> None:
        if member.is_queued:
            self.remove(member)
            member.is_queued = False

    def drop_full(self) -> None:
        while self and self[0].room <= 0:
            self.popleft().is_queued = False

    def next(self, other_than: Member | None = None) -> Member | None:
        """Whose turn it is; it goes to the end of the line."""
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
