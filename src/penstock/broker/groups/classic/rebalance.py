"""The transitions of a classic group from one generation to the next, and the effects of its deadlines.

    Empty ──join──▶ PreparingRebalance ──all joined, or time is up──▶ CompletingRebalance ──assignment stored──▶ Stable
      ▲                    ▲  │                                              │                                 │
      └──no member is left─┼──┘◀────────── join, leave, expiry, no sync ─────┴─────────────────────────────────┘

Requests are not handled here (see `joining`, `syncing` and `leaving`): a rebalance owns the state, parks and answers
tickets, and puts records into the effects of the current step. A group is Stable only when the record with its
assignment is on disk: members must not work on an assignment that a crash could take back.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.broker.groups.claim import CommitClaim, Identity
from penstock.broker.groups.classic.deadlines import DeadlineKind, Deadlines, Due
from penstock.broker.groups.classic.exchange import Assignment, JoinAnswer, SyncAnswer
from penstock.broker.groups.classic.generation import Generation
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.classic.members import Member, Members
from penstock.broker.groups.classic.pending import PendingMembers
from penstock.broker.groups.classic.records import CLASSIC_GROUP, GroupKey, GroupValue
from penstock.broker.groups.effects import Event, Now, Step, Ticket
from penstock.broker.groups.group_state import GroupState
from penstock.broker.groups.memory import GROUP_BYTES, GroupAccount, kept_bytes
from penstock.model.counted import counted
from penstock.model.errors import ErrorCode, KafkaError

EMPTY, DEAD, STABLE = GroupState.EMPTY, GroupState.DEAD, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE

NOBODY_JOINED_RETRY_MS = 100  # a member may ask for a rebalance timeout of 0; that must not become a busy loop


class Rebalance:
    """State, members, generation and deadlines of one group."""

    def __init__(self, group_id: str, limits: GroupLimits, now: Now) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.state_ms = now.wall_ms
        self.account = GroupAccount(limits.memory)
        self.account.change(GROUP_BYTES + kept_bytes(group_id))
        self.members = Members(self.account)
        self.pending = PendingMembers(self.account)
        self.generation = Generation(self.members, self.account)
        self.deadlines = Deadlines(self.members, self.pending)
        self._limits = limits
        self._previous_state = EMPTY
        self._unsynced: set[str] = set()
        self._initial_remaining_ms = 0
        self._new_member_came = False

    # --- time --------------------------------------------------------------------------------------------------------

    def advance(self, step: Step) -> None:
        """Handle the deadlines that have passed, in their order."""
        for due in self.deadlines.due(step.now.monotonic_ms):
            self._handle_deadline(due, step)
        self.deadlines.set_wake()

    def _handle_deadline(self, due: Due, step: Step) -> None:
        """Handle one deadline, unless one that was handled before it has moved it or removed its member."""
        now_ms = step.now.monotonic_ms
        deadlines = self.deadlines
        match due.kind:
            case DeadlineKind.PENDING_MEMBER:
                if self.pending.forget(due.member_id):
                    self.complete_join_if_all_are_in(step)
            case DeadlineKind.SESSION:
                self._session_ended(due.member_id, step)
            case DeadlineKind.JOIN:
                if deadlines.join_ms is not None and deadlines.join_ms <= now_ms:
                    self._join_time_is_up(step)
            case DeadlineKind.SYNC:
                if deadlines.sync_ms is not None and deadlines.sync_ms <= now_ms:
                    self._sync_time_is_up(step)

    def _session_ended(self, member_id: str, step: Step) -> None:
        if member_id not in self.members:
            return
        member = self.members[member_id]
        if member.deadline_ms is None or member.deadline_ms > step.now.monotonic_ms:
            return
        member.deadline_ms = None
        if not member.is_waiting:
            self.remove(member_id, step)
            if self.state in (STABLE, COMPLETING):
                self.prepare(step)
            elif self.state is PREPARING and self._all_are_in():
                self._complete_join(step)

    def _join_time_is_up(self, step: Step) -> None:
        if self._new_member_came and self._initial_remaining_ms > 0:
            # Members still arrive in a new group: one more delay, within the rebalance timeout (KIP-134).
            self._new_member_came = False
            delay_ms = min(self._limits.initial_rebalance_delay_ms, self._initial_remaining_ms)
            self._initial_remaining_ms -= delay_ms
            self.deadlines.end_join_at(step.now.monotonic_ms + delay_ms)
        else:
            self._complete_join(step)

    def _sync_time_is_up(self, step: Step) -> None:
        self.deadlines.sync_ms = None
        for member_id in sorted(self._unsynced):
            self.remove(member_id, step)
        self.prepare(step)

    # --- members -----------------------------------------------------------------------------------------------------

    def check_member(self, who: Identity | CommitClaim, generation: int) -> Member:
        """The member that a request is from, if it knows the running generation. KafkaError if not."""
        if self.state is DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        member = self.members.check(who.member_id, who.instance_id)
        if generation != self.generation.number:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        return member

    def add(self, member: Member) -> None:
        self._new_member_came = True
        self.pending.forget(member.member_id)
        self.members.add(member)

    def remove(self, member_id: str, step: Step) -> None:
        """Remove a member. Its parked requests are answered UNKNOWN_MEMBER_ID: if it is alive, it starts again."""
        self._unsynced.discard(member_id)
        if member_id not in self.members:
            return
        member = self.members[member_id]
        join_ticket = self.members.take_join(member)
        self.members.remove(member_id)
        if join_ticket is not None:
            step.reply(join_ticket, JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))
        if member.sync_ticket is not None:
            step.reply(member.sync_ticket, SyncAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))

    def rename(self, old_id: str, new_id: str) -> Member:
        """Give a static member that has come back its own place under its new id (KIP-345)."""
        if old_id in self._unsynced:
            self._unsynced.remove(old_id)
            self._unsynced.add(new_id)
        return self.members.rename(old_id, new_id)

    def park_join(self, member: Member, ticket: Ticket, step: Step) -> None:
        """Park a JoinGroup; one that it displaces is answered, where Kafka forgets it."""
        displaced = self.members.park_join(member, ticket)
        if displaced is not None:
            step.reply(displaced, JoinAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))

    # --- joining -----------------------------------------------------------------------------------------------------

    def prepare_or_complete(self, step: Step) -> None:
        """Go on after a member has joined: begin a rebalance, or finish the one that waited for this member."""
        if self.state in (STABLE, COMPLETING, EMPTY):
            self.prepare(step)
        else:
            self.complete_join_if_all_are_in(step)

    def prepare(self, step: Step) -> None:
        """Begin a rebalance: all members have to join again."""
        if self.state is COMPLETING:
            self._propagate(ErrorCode.REBALANCE_IN_PROGRESS, {}, step)
        self._unsynced.clear()
        self.deadlines.sync_ms = None
        is_initial = self.state is EMPTY
        self._move_to(PREPARING, step.now)
        if is_initial:
            delay_ms = self._limits.initial_rebalance_delay_ms
            self._new_member_came = False
            self._initial_remaining_ms = max(self.members.rebalance_timeout_ms - delay_ms, 0)
            self.deadlines.end_join_at(step.now.monotonic_ms + delay_ms)
        elif self._all_are_in():
            self._complete_join(step)
        else:
            self._wait_for_joins(step.now)

    def _wait_for_joins(self, now: Now, at_least_ms: int = 0) -> None:
        self._initial_remaining_ms = 0
        span_ms = max(self.members.rebalance_timeout_ms, at_least_ms)
        self.deadlines.end_join_at(now.monotonic_ms + span_ms)

    def _all_are_in(self) -> bool:
        return self.members.waiting_to_join == len(self.members) and not self.pending

    def complete_join_if_all_are_in(self, step: Step) -> None:
        """Complete the join phase if all members have joined; in a new group the initial delay still runs out."""
        if self.state is PREPARING and self._previous_state is not EMPTY and self._all_are_in():
            self._complete_join(step)

    def _complete_join(self, step: Step) -> None:
        """Begin the next generation, without the dynamic members that have not joined again."""
        self.deadlines.join_ms = None
        for member in self.members:
            if member.join_ticket is None and member.instance_id is None:
                self.remove(member.member_id, step)
        if len(self.members) and not self.members.elect_waiting_leader():
            # Only static members are left and none is back: look again until their sessions end.
            self._wait_for_joins(step.now, NOBODY_JOINED_RETRY_MS)
            return
        self.generation.begin()
        self._unsynced.clear()
        if not len(self.members):
            self._move_to(EMPTY, step.now)
            self.store(step)
            return
        self._move_to(COMPLETING, step.now)
        now_ms = step.now.monotonic_ms
        for member in self.members:
            member.is_new = False
            self.deadlines.expect_heartbeat(member, now_ms)
            self._unsynced.add(member.member_id)
            ticket = self.members.take_join(member)
            if ticket is not None:
                step.reply(ticket, self.generation.join_answer(member))
        self.deadlines.end_sync_at(now_ms + self.members.rebalance_timeout_ms)

    # --- syncing -----------------------------------------------------------------------------------------------------

    def synced(self, member_id: str) -> None:
        """Note that a member has sent its SyncGroup; when all have, the phase no longer has a deadline."""
        self._unsynced.discard(member_id)
        if not self._unsynced:
            self.deadlines.sync_ms = None

    def store_assignment(self, assignments: Mapping[str, bytes], step: Step) -> None:
        """Store the leader's assignment. KafkaError if there is no memory for it."""
        event = Assignment(self.generation.number, assignments)
        self.account.check(event.kept_bytes - self.members.assignment_bytes)
        self.account.change(event.kept_bytes)  # until it is stored; then members are charged with their parts
        self.store(step, event, assignments)

    def assignment_stored(self, event: Assignment, step: Step) -> None:
        self.account.change(-event.kept_bytes)
        if self.state is COMPLETING and self.generation.number == event.generation:
            self._move_to(STABLE, step.now)
            self._propagate(ErrorCode.NONE, event.assignments, step)

    def assignment_refused(self, event: Assignment, code: ErrorCode, step: Step) -> None:
        self.account.change(-event.kept_bytes)
        if self.state is COMPLETING and self.generation.number == event.generation:
            self._propagate(code, {}, step)
            self.prepare(step)

    def _propagate(self, error: ErrorCode, assignments: Mapping[str, bytes], step: Step) -> None:
        for member in self.members:
            self.members.assign(member, assignments.get(member.member_id, b""))
            ticket = member.sync_ticket
            if ticket is not None:
                member.sync_ticket = None
                step.reply(ticket, self.generation.sync_answer(member) if not error else SyncAnswer(error=error))
                self.deadlines.expect_heartbeat(member, step.now.monotonic_ms)

    # --- state -------------------------------------------------------------------------------------------------------

    def _move_to(self, state: GroupState, now: Now) -> None:
        self._previous_state = self.state
        self.state = state
        self.state_ms = now.wall_ms

    def value(self, assignments: Mapping[str, bytes] | None = None) -> GroupValue:
        """The record of the group as it is, or with the assignments that it is about to get."""
        return self.generation.value(self.state_ms, assignments)

    def store(self, step: Step, event: Event | None = None, assignments: Mapping[str, bytes] | None = None) -> None:
        """Put the record of the group into the effects."""
        value = self.value(assignments)
        step.effects.records.append(CLASSIC_GROUP.record(GroupKey(self.group_id), value))
        step.effects.summary = f"generation {value.generation} with {counted(len(value.members), 'member')}"
        if event is not None:
            step.effects.then.append(event)
