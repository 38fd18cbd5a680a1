"""How a group gets from one generation to the next, and everything about it that happens by itself when time passes.

    Empty ──join──▶ PreparingRebalance ──all joined, or time is up──▶ CompletingRebalance ──assignment stored──▶ Stable
      ▲                    ▲  │                                              │                                 │
      └──nobody is left────┼──┘◀────────── join, leave, expiry, no sync ─────┴─────────────────────────────────┘

This half of a group knows no requests (those are in `group`): it holds the state, parks and answers tickets, and
gathers effects in `_out`. A group is Stable only when the record with its assignment is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.broker.groups.exchange import (
    Delivery,
    Effects,
    GroupRecord,
    GroupState,
    JoinAnswer,
    Now,
    SyncAnswer,
    Ticket,
)
from penstock.broker.groups.members import Member, Members
from penstock.broker.groups.records import GroupValue, MemberValue
from penstock.broker.groups.subscription import subscribed_topics
from penstock.model.errors import ErrorCode

EMPTY, DEAD, STABLE = GroupState.EMPTY, GroupState.DEAD, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

NOBODY_JOINED_RETRY_MS = 100  # a member may ask for a rebalance timeout of 0; that must not become a busy loop


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """What the settings say about groups, and where member ids come from."""

    initial_rebalance_delay_ms: int
    members_max: int
    new_member_id: Callable[[str], str]  # a fresh id that begins with the given name


class Rebalance:
    """State, members, generation and assignment of one group."""

    def __init__(self, group_id: str, limits: GroupLimits, now: Now) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.state_ms = now.wall_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.topics: frozenset[str] | None = None
        """What its members subscribed to, None when that cannot be known."""
        self.members = Members()
        self.pending: dict[str, int] = {}
        """Member ids that were handed out and not joined with yet, and when they lapse."""
        self.wake_ms: int | None = None
        """No later than the next moment at which `advance` has something to do."""
        self._limits = limits
        self._previous_state = EMPTY
        self._unsynced: set[str] = set()
        self._join_deadline_ms: int | None = None
        self._initial_remaining_ms = 0
        self._new_member_came = False
        self._sync_deadline_ms: int | None = None
        self._out = Effects()

    # --- time --------------------------------------------------------------------------------------------------------

    def advance(self, now: Now) -> Effects:
        """Do what has become due, in the order in which it did."""
        self._out = Effects()
        time_ms = now.monotonic_ms
        due: list[tuple[int, Callable[[str, Now], None], str]] = []
        for member_id, deadline in self.pending.items():
            due.append((deadline, self._pending_lapsed, member_id))
        for member in self.members:
            if member.deadline_ms is not None:
                due.append((member.deadline_ms, self._session_ended, member.member_id))
        if self._join_deadline_ms is not None:
            due.append((self._join_deadline_ms, self._join_time_is_up, ""))
        if self._sync_deadline_ms is not None:
            due.append((self._sync_deadline_ms, self._sync_time_is_up, ""))
        for _, act, member_id in sorted((item for item in due if item[0] <= time_ms), key=lambda item: item[0]):
            act(member_id, now)
        self._look_for_next_deadline()
        return self._out

    def _look_for_next_deadline(self) -> None:
        deadlines = [member.deadline_ms for member in self.members if member.deadline_ms is not None]
        deadlines += self.pending.values()
        deadlines += [at for at in (self._join_deadline_ms, self._sync_deadline_ms) if at is not None]
        self.wake_ms = min(deadlines, default=None)

    def _wake_at(self, deadline_ms: int) -> int:
        if self.wake_ms is None or deadline_ms < self.wake_ms:
            self.wake_ms = deadline_ms
        return deadline_ms

    def _expect_heartbeat(self, member: Member, now: Now, within_ms: int | None = None) -> None:
        span = member.session_timeout_ms if within_ms is None else within_ms
        member.deadline_ms = self._wake_at(now.monotonic_ms + span)

    def _pending_lapsed(self, member_id: str, now: Now) -> None:
        if self.pending.pop(member_id, None) is not None:
            self._complete_join_if_all_are_in(now)

    def _session_ended(self, member_id: str, now: Now) -> None:
        if member_id not in self.members:
            return
        member = self.members[member_id]
        if member.deadline_ms is None or member.deadline_ms > now.monotonic_ms:
            return  # what came due before it gave the member more time
        member.deadline_ms = None
        if not member.is_waiting:
            self._remove(member_id)
            self._after_removal(now)

    def _join_time_is_up(self, _: str, now: Now) -> None:
        if self._join_deadline_ms is None or self._join_deadline_ms > now.monotonic_ms:
            return
        if self._new_member_came and self._initial_remaining_ms > 0:
            # Members still arrive in a new group: one more delay, within the rebalance timeout (KIP-134).
            self._new_member_came = False
            delay_ms = min(self._limits.initial_rebalance_delay_ms, self._initial_remaining_ms)
            self._initial_remaining_ms -= delay_ms
            self._join_deadline_ms = self._wake_at(now.monotonic_ms + delay_ms)
        else:
            self._complete_join(now)

    def _sync_time_is_up(self, _: str, now: Now) -> None:
        if self._sync_deadline_ms is None or self._sync_deadline_ms > now.monotonic_ms:
            return
        self._sync_deadline_ms = None
        for member_id in sorted(self._unsynced):
            self._remove(member_id)
        self._prepare_rebalance(now)

    # --- members -----------------------------------------------------------------------------------------------------

    def _remove(self, member_id: str) -> None:
        """Take a member out; what it waits for is answered UNKNOWN_MEMBER_ID: it starts again if it lives."""
        self._unsynced.discard(member_id)
        if member_id not in self.members:
            return
        member = self.members[member_id]
        join_ticket = self.members.take_join(member)
        self.members.remove(member_id)
        if join_ticket is not None:
            self._answer(join_ticket, JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))
        if member.sync_ticket is not None:
            self._answer(member.sync_ticket, SyncAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))

    def _after_removal(self, now: Now) -> None:
        if self.state in (STABLE, COMPLETING):
            self._prepare_rebalance(now)
        elif self.state is PREPARING and self._all_are_in():
            self._complete_join(now)

    def _park_join(self, member: Member, ticket: Ticket) -> None:
        displaced = self.members.park_join(member, ticket)
        if displaced is not None:
            self._answer(displaced, JoinAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))

    def _answer(self, ticket: Ticket, answer: JoinAnswer | SyncAnswer) -> None:
        self._out.deliveries.append(Delivery(ticket, answer))

    # --- joining -----------------------------------------------------------------------------------------------------

    def _rebalance_or_complete(self, now: Now) -> None:
        if self.state in (STABLE, COMPLETING, EMPTY):
            self._prepare_rebalance(now)
        else:
            self._complete_join_if_all_are_in(now)

    def _prepare_rebalance(self, now: Now) -> None:
        if self.state is COMPLETING:
            self._propagate(ErrorCode.REBALANCE_IN_PROGRESS, {}, now)
        self._unsynced.clear()
        self._sync_deadline_ms = None
        is_initial = self.state is EMPTY
        self._move_to(PREPARING, now)
        if is_initial:
            delay_ms = self._limits.initial_rebalance_delay_ms
            self._new_member_came = False
            self._initial_remaining_ms = max(self.members.rebalance_timeout_ms - delay_ms, 0)
            self._join_deadline_ms = self._wake_at(now.monotonic_ms + delay_ms)
        elif self._all_are_in():
            self._complete_join(now)
        else:
            self._wait_for_joins(now)

    def _wait_for_joins(self, now: Now, at_least_ms: int = 0) -> None:
        self._initial_remaining_ms = 0
        span_ms = max(self.members.rebalance_timeout_ms, at_least_ms)
        self._join_deadline_ms = self._wake_at(now.monotonic_ms + span_ms)

    def _all_are_in(self) -> bool:
        return self.members.waiting_to_join == len(self.members) and not self.pending

    def _complete_join_if_all_are_in(self, now: Now) -> None:
        """In a new group the delay runs its course even if everybody known has joined."""
        if self.state is PREPARING and self._previous_state is not EMPTY and self._all_are_in():
            self._complete_join(now)

    def _complete_join(self, now: Now) -> None:
        """The next generation begins, without the dynamic members that have not joined again."""
        self._join_deadline_ms = None
        for member in self.members:
            if member.join_ticket is None and member.instance_id is None:
                self._remove(member.member_id)
        if len(self.members) and not self.members.elect_waiting_leader():
            # Only static members are left and none is back: look again until their sessions end.
            self._wait_for_joins(now, NOBODY_JOINED_RETRY_MS)
            return
        self.generation += 1
        self._unsynced.clear()
        if not len(self.members):
            self.protocol_name = None
            self._note_topics()
            self._move_to(EMPTY, now)
            self._out.records.append(GroupRecord(self.value()))
            return
        self.protocol_name = self.members.choose_protocol()
        self._note_topics()
        self._move_to(COMPLETING, now)
        for member in self.members:
            member.is_new = False
            self._expect_heartbeat(member, now)
            self._unsynced.add(member.member_id)
            ticket = self.members.take_join(member)
            if ticket is not None:
                self._answer(ticket, self._join_answer(member))
        self._sync_deadline_ms = self._wake_at(now.monotonic_ms + self.members.rebalance_timeout_ms)

    def _join_answer(self, member: Member, *, skip_assignment: bool = False) -> JoinAnswer:
        is_leader = member.member_id == self.members.leader_id
        return JoinAnswer(
            member_id=member.member_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.members.leader_id or "",
            skip_assignment=skip_assignment and is_leader,
            members=self.members.as_joined(self.protocol_name) if is_leader else (),
        )

    # --- syncing -----------------------------------------------------------------------------------------------------

    def _store_assignment(self, assignments: Mapping[str, bytes]) -> None:
        generation = self.generation

        def stored(now: Now) -> Effects:
            self._out = Effects()
            if self.state is COMPLETING and self.generation == generation:
                self._move_to(STABLE, now)
                self._propagate(ErrorCode.NONE, assignments, now)
            return self._out

        def refused(code: ErrorCode, now: Now) -> Effects:
            self._out = Effects()
            if self.state is COMPLETING and self.generation == generation:
                self._propagate(code, {}, now)
                self._prepare_rebalance(now)
            return self._out

        self._out.records.append(GroupRecord(self.value(assignments), stored, refused))

    def _propagate(self, error: ErrorCode, assignments: Mapping[str, bytes], now: Now) -> None:
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"")
            ticket = member.sync_ticket
            if ticket is not None:
                member.sync_ticket = None
                self._answer(ticket, self._sync_answer(member) if not error else SyncAnswer(error=error))
                self._expect_heartbeat(member, now)

    def _sync_answer(self, member: Member) -> SyncAnswer:
        return SyncAnswer(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    def _synced(self, member_id: str) -> None:
        self._unsynced.discard(member_id)
        if not self._unsynced:
            self._sync_deadline_ms = None

    # --- state -------------------------------------------------------------------------------------------------------

    def _move_to(self, state: GroupState, now: Now) -> None:
        self._previous_state = self.state
        self.state = state
        self.state_ms = now.wall_ms

    def _note_topics(self) -> None:
        self.topics = subscribed_topics(
            self.protocol_type, (member.metadata(self.protocol_name) for member in self.members)
        )

    def value(self, assignments: Mapping[str, bytes] | None = None) -> GroupValue:
        """The record of this group as it is, or with the assignments that it is about to get."""
        return GroupValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.members.leader_id,
            state_ms=self.state_ms,
            members=tuple(
                MemberValue(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(self.protocol_name),
                    member.assignment if assignments is None else assignments.get(member.member_id, b""),
                )
                for member in self.members
            ),
        )
