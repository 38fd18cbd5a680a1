"""A group of the classic protocol, put together from its parts behind the interface of groups.

Semantics are those of Kafka's coordinator, with static members (KIP-345), member ids handed out first (KIP-394) and
skipped assignments (KIP-814). One rule is added: a request that the same member's next request displaces is answered
REBALANCE_IN_PROGRESS, where Kafka forgets it.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.groups.claim import CommitClaim, Identity
from penstock.broker.groups.classic.exchange import (
    Assignment,
    JoinAnswer,
    JoinRequest,
    Replacement,
    SyncAnswer,
    SyncRequest,
)
from penstock.broker.groups.classic.joining import Joining
from penstock.broker.groups.classic.leaving import Leaving
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.classic.members import Member, Members
from penstock.broker.groups.classic.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance
from penstock.broker.groups.classic.records import CLASSIC_GROUP, GroupKey, GroupValue
from penstock.broker.groups.classic.syncing import Syncing
from penstock.broker.groups.description import GroupDescription, MemberDescription
from penstock.broker.groups.effects import Effects, Now, Refused, Reply, Step, Stored, Ticket
from penstock.broker.groups.embedded_protocol import CONSUMER
from penstock.broker.groups.group_state import GroupState, GroupType
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TIMESTAMP


class ClassicGroup:
    """A group whose members assign partitions among themselves."""

    group_type = GroupType.CLASSIC

    def __init__(self, group_id: str, limits: GroupLimits, now: Now) -> None:
        self.group_id = group_id
        self._limits = limits
        self.rebalance = Rebalance(group_id, limits, now)
        self._joining = Joining(self.rebalance, limits)
        self._syncing = Syncing(self.rebalance)
        self._leaving = Leaving(self.rebalance)

    def restore(self, value: GroupValue, now: Now) -> None:
        """Continue from the last record: members stay in their generation, and their sessions start again."""
        rebalance = self.rebalance
        rebalance.state_ms = value.state_ms
        for stored in value.members:
            member = Member.restored(stored, value.protocol)
            rebalance.members.add(member)
            rebalance.deadlines.expect_heartbeat(member, now.monotonic_ms)
        if value.members:
            rebalance.state = STABLE
            if value.leader in rebalance.members:
                rebalance.members.leader_id = value.leader
        rebalance.generation.restore(value)

    # --- what others see ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        return self.rebalance.state

    @property
    def members(self) -> Members:
        return self.rebalance.members

    @property
    def member_count(self) -> int:
        return len(self.rebalance.members)

    @property
    def generation(self) -> int:
        return self.rebalance.generation.number

    @property
    def protocol_type(self) -> str | None:
        return self.rebalance.generation.protocol_type

    @property
    def is_vacant(self) -> bool:
        return self.rebalance.state is EMPTY and not self.rebalance.pending

    @property
    def wake_ms(self) -> int | None:
        return self.rebalance.deadlines.wake_ms

    def describe(self) -> GroupDescription:
        generation = self.rebalance.generation
        members = tuple(
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(generation.protocol_name),
                member.assignment,
            )
            for member in self.rebalance.members
        )
        return GroupDescription(
            group_id=self.group_id,
            group_type=self.group_type,
            state=self.rebalance.state,
            generation=generation.number,
            protocol_type=generation.protocol_type,
            protocol_name=generation.protocol_name,
            members=members,
        )

    # --- requests of members -----------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, ticket: Ticket, now: Now) -> Effects:
        step = Step(now)
        self._joining.join(request, ticket, step)
        return step.effects

    def store_new(self, effects: Effects) -> None:
        """Put the first record of a group that is new into the effects of its first join."""
        value = GroupValue("", 0, None, None, self.rebalance.state_ms, ())
        effects.records.append(CLASSIC_GROUP.record(GroupKey(self.group_id), value))
        effects.summary = "generation 0 with 0 members"

    def sync(self, request: SyncRequest, ticket: Ticket, now: Now) -> Effects:
        step = Step(now)
        self._syncing.sync(request, ticket, step)
        return step.effects

    def heartbeat(self, who: Identity, generation: int, now: Now) -> ErrorCode:
        try:
            member = self.rebalance.check_member(who, generation)
        except KafkaError as error:
            return error.code
        self.rebalance.deadlines.expect_heartbeat(member, now.monotonic_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS if self.rebalance.state is PREPARING else ErrorCode.NONE

    def leave(self, leaving: Sequence[Identity], ticket: Ticket, now: Now) -> Effects:
        step = Step(now)
        self._leaving.leave(leaving, ticket, step)
        return step.effects

    # --- time, storage -----------------------------------------------------------------------------------------------

    def advance(self, now: Now) -> Effects:
        step = Step(now)
        self.rebalance.advance(step)
        return step.effects

    def resume(self, outcome: Stored | Refused, now: Now) -> Effects:
        step = Step(now)
        match outcome:
            case Stored(Assignment() as event):
                self.rebalance.assignment_stored(event, step)
            case Refused(Assignment() as event, code):
                self.rebalance.assignment_refused(event, code, step)
            case Stored(Replacement() as event):
                self._joining.replacement_stored(event, step)
            case Refused(Replacement() as event, code):
                self._joining.replacement_refused(event, code, step)
            case _:
                raise AssertionError(f"not an event of a classic group: {outcome}")
        return step.effects

    def loaded(self, now: Now) -> Effects:
        """Rebalance a group that is above a limit that was lowered; the last members to come are refused."""
        step = Step(now)
        if self.member_count > self._limits.members_max:
            self.rebalance.prepare(step)
        return step.effects

    def abandon(self, code: ErrorCode) -> Sequence[Reply]:
        replies = []
        members = self.rebalance.members
        for member in members:
            ticket = members.take_join(member)
            if ticket is not None:
                replies.append(Reply(ticket, JoinAnswer(error=code, member_id=member.member_id)))
            if member.sync_ticket is not None:
                replies.append(Reply(member.sync_ticket, SyncAnswer(error=code)))
                member.sync_ticket = None
        self.rebalance.state = DEAD
        self.rebalance.deadlines.wake_ms = None
        self.rebalance.account.close()
        return replies

    def release(self, now: Now) -> None:
        """Be empty again, with no protocol, after a push subscription has held the group."""
        self.rebalance.generation.clear_protocol()
        self.rebalance.state_ms = now.wall_ms

    # --- offsets, deletion -------------------------------------------------------------------------------------------

    def check_commit(self, claim: CommitClaim, now: Now) -> None:
        """Accept members, and clients without one in an empty group.

        In a transaction a client that does not say who it is was fenced by its transactional id, and what was read
        may be committed until the members of the next generation have their assignment (KIP-447).
        """
        state = self.rebalance.state
        if state is DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if claim.generation < 0 and (state is EMPTY or (claim.in_transaction and claim.is_anonymous)):
            return
        member = self.rebalance.check_member(claim, claim.generation)
        if state is COMPLETING and not claim.in_transaction:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self.rebalance.deadlines.expect_heartbeat(member, now.monotonic_ms)

    def check_delete(self) -> None:
        if self.rebalance.state is DEAD:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.rebalance.state is not EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Offsets of a live group may go only if the topics that it reads are known."""
        if self.protocol_type != CONSUMER:
            self.check_delete()

    def reads(self, topic: str) -> bool:
        topics = self.rebalance.generation.topics
        return self.protocol_type == CONSUMER if topics is None else topic in topics

    def retention_start_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """The moment the group became empty; that of the commit where the group, or the topic, is not in use."""
        rebalance, topics = self.rebalance, self.rebalance.generation.topics
        if self.protocol_type is None:
            return committed.commit_ms
        if rebalance.state is EMPTY:
            return committed.commit_ms if rebalance.state_ms == NO_TIMESTAMP else rebalance.state_ms
        if rebalance.state is STABLE and self.protocol_type == CONSUMER and topics is not None and topic not in topics:
            return committed.commit_ms
        return None

    def tombstones(self) -> list[NewRecord]:
        return [CLASSIC_GROUP.record(GroupKey(self.group_id), None)]
