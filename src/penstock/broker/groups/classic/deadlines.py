"""The deadlines of a classic group: of sessions, of member ids that were handed out, of the join and the sync phase.

`wake_ms` may be too early, never too late: a heartbeat moves a deadline further away and leaves it as it is.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from penstock.broker.groups.classic.members import Member, Members
from penstock.broker.groups.classic.pending import PendingMembers


class DeadlineKind(enum.Enum):
    PENDING_MEMBER = enum.auto()
    SESSION = enum.auto()
    JOIN = enum.auto()
    SYNC = enum.auto()


class Due(NamedTuple):
    """A deadline that has passed."""

    deadline_ms: int
    kind: DeadlineKind
    member_id: str = ""


class Deadlines:
    """Deadlines of one group, as times of the monotonic clock."""

    def __init__(self, members: Members, pending: PendingMembers) -> None:
        self._members = members
        self._pending = pending
        self.wake_ms: int | None = None
        """No later than the first of all deadlines."""
        self.join_ms: int | None = None
        self.sync_ms: int | None = None

    def expect_heartbeat(self, member: Member, now_ms: int, within_ms: int | None = None) -> None:
        """Begin the session of a member, or extend it."""
        span_ms = member.session_timeout_ms if within_ms is None else within_ms
        member.deadline_ms = self._wake_at(now_ms + span_ms)

    def expect_pending(self, member_id: str, at_ms: int) -> None:
        self._pending.add(member_id, self._wake_at(at_ms))

    def end_join_at(self, at_ms: int) -> None:
        self.join_ms = self._wake_at(at_ms)

    def end_sync_at(self, at_ms: int) -> None:
        self.sync_ms = self._wake_at(at_ms)

    def _wake_at(self, deadline_ms: int) -> int:
        if self.wake_ms is None or deadline_ms < self.wake_ms:
            self.wake_ms = deadline_ms
        return deadline_ms

    def due(self, now_ms: int) -> list[Due]:
        """Deadlines that have passed, in their order."""
        lapsed = self._pending.lapsed(now_ms)
        passed = [Due(at_ms, DeadlineKind.PENDING_MEMBER, member_id) for member_id, at_ms in lapsed]
        for member in self._members:
            if member.deadline_ms is not None and member.deadline_ms <= now_ms:
                passed.append(Due(member.deadline_ms, DeadlineKind.SESSION, member.member_id))
        if self.join_ms is not None and self.join_ms <= now_ms:
            passed.append(Due(self.join_ms, DeadlineKind.JOIN))
        if self.sync_ms is not None and self.sync_ms <= now_ms:
            passed.append(Due(self.sync_ms, DeadlineKind.SYNC))
        return sorted(passed, key=lambda each: each.deadline_ms)

    def set_wake(self) -> None:
        """Find the first deadline again, after those that had passed were handled."""
        deadlines = [member.deadline_ms for member in self._members if member.deadline_ms is not None]
        deadlines += self._pending.deadlines()
        deadlines += [at for at in (self.join_ms, self.sync_ms) if at is not None]
        self.wake_ms = min(deadlines, default=None)
