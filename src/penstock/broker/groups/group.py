"""One consumer group of the classic protocol: what its members ask, on top of the rebalance machine.

Every method that can change something takes `now` and returns `Effects`: answers to deliver and records to store.
Semantics are those of Kafka's coordinator, with static members (KIP-345), member ids handed out first (KIP-394) and
skipped assignments (KIP-814). One rule is added: a request that the same member's next request displaces is answered
REBALANCE_IN_PROGRESS, where Kafka forgets it.

Offsets are not here but in `offsets`; which groups exist, and where their records go, is the shard's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.broker.groups.exchange import (
    Delivery,
    Effects,
    GroupRecord,
    GroupState,
    JoinAnswer,
    JoinRequest,
    Now,
    SyncAnswer,
    Ticket,
)
from penstock.broker.groups.members import Member
from penstock.broker.groups.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, GroupLimits, Rebalance
from penstock.broker.groups.records import GroupValue
from penstock.broker.groups.subscription import CONSUMER
from penstock.model.errors import ErrorCode, KafkaError

__all__ = ["Group", "GroupLimits", "GroupState", "Identity"]

PUSH = "push"
"""The protocol, in place of an assignor, of a group that a subscription of the push door holds. Its type is that of
consumers, or tools would not show it.
"""
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000  # as in Kafka: a new member cannot heartbeat while its first join is parked


class Identity(NamedTuple):
    """Who a request says it is from."""

    member_id: str
    instance_id: str | None


class Holder(Protocol):
    """A subscription that has taken a group."""

    def group_members(self) -> Iterable[Member]: ...


class Group(Rebalance):
    """A group as its members see it."""

    holder: Holder | None = None

    @classmethod
    def restored(cls, group_id: str, value: GroupValue, limits: GroupLimits, now: Now) -> Group:
        """A group as its last record tells: members go on in their generation, their sessions begin anew."""
        group = cls(group_id, limits, now)
        group.state_ms = value.state_ms
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        for stored in value.members:
            member = Member(
                member_id=stored.member_id,
                instance_id=stored.instance_id,
                client_id=stored.client_id,
                client_host=stored.client_host,
                rebalance_timeout_ms=stored.rebalance_timeout_ms,
                session_timeout_ms=stored.session_timeout_ms,
                protocols=((value.protocol or "", stored.subscription),),
                assignment=stored.assignment,
            )
            group.members.add(member)
            group._expect_heartbeat(member, now)
        if len(group.members):
            group.state = STABLE
            if value.leader in group.members:
                group.members.leader_id = value.leader
        group._note_topics()
        return group

    # --- JoinGroup ---------------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, ticket: Ticket, now: Now) -> Effects:
        """Answered at once on an error, else when the rebalance that it starts or joins is through."""
        self._out = Effects()
        member_id = request.member_id
        try:
            if self.state is DEAD:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            if not self._has_room_for(member_id):
                self.pending.pop(member_id, None)
                self._remove(member_id)
                member_id = ""
                raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
            if self.holder is not None or not self._speaks(request):
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            if member_id == "":
                self._join_first(request, ticket, now)
            elif member_id in self.pending:
                if request.instance_id is not None:  # a static member is never handed an id
                    member_id = ""
                    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
                self._add_member(request, member_id, ticket, now)
            else:
                self._join_again(request, self.members.check(member_id, request.instance_id), ticket, now)
        except KafkaError as error:
            self._answer(ticket, JoinAnswer(error=error.code, member_id=member_id))
        return self._out

    def _has_room_for(self, member_id: str) -> bool:
        limit = self._limits.members_max
        if self.state is EMPTY:
            return True
        is_member = member_id in self.members
        if self.state is PREPARING:
            # Those who wait are counted, so that a group above a lowered limit loses its last comers.
            waits = is_member and self.members[member_id].join_ticket is not None
            return waits or self.members.waiting_to_join < limit
        return is_member or len(self.members) < limit

    def _speaks(self, request: JoinRequest) -> bool:
        if self.state is EMPTY or not len(self.members):
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.protocol_type and self.members.all_offer_one_of(request.protocols)

    def _join_first(self, request: JoinRequest, ticket: Ticket, now: Now) -> None:
        new_id = self._limits.new_member_id(request.instance_id or request.client_id)
        if request.instance_id is not None:
            current = self.members.of_instance(request.instance_id)
            if current is not None:
                self._replace_static(request, current, new_id, ticket, now)
            else:
                self._add_member(request, new_id, ticket, now)
        elif request.needs_member_id:
            self.pending[new_id] = self._wake_at(now.monotonic_ms + request.session_timeout_ms)
            self._answer(ticket, JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=new_id))
        else:
            self._add_member(request, new_id, ticket, now)

    def _add_member(self, request: JoinRequest, member_id: str, ticket: Ticket, now: Now) -> None:
        member = Member(
            member_id=member_id,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            is_new=True,
        )
        if not len(self.members):
            self.protocol_type = request.protocol_type
        self._new_member_came = True
        self.pending.pop(member_id, None)
        self.members.add(member)
        self._park_join(member, ticket)
        self._expect_heartbeat(member, now, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance_or_complete(now)

    def _join_again(self, request: JoinRequest, member: Member, ticket: Ticket, now: Now) -> None:
        unchanged = member.protocols == request.protocols
        leads = member.member_id == self.members.leader_id
        if self.state is COMPLETING and unchanged:
            self._answer(ticket, self._join_answer(member))  # it did not get the first answer
        elif self.state is STABLE and unchanged and not leads:
            self._answer(ticket, self._join_answer(member))
        else:
            # Also a leader whose own metadata did not change: it saw topics change and wants to assign again.
            self._update(member, request, ticket)
            self._rebalance_or_complete(now)

    def _update(self, member: Member, request: JoinRequest, ticket: Ticket) -> None:
        self.members.set_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        self._park_join(member, ticket)

    def _replace_static(self, request: JoinRequest, old_id: str, new_id: str, ticket: Ticket, now: Now) -> None:
        """A static member restarted: it takes over its own place, and nobody rebalances if nothing else changed."""
        former_leader = self.members.leader_id
        member = self._take_over(old_id, new_id)
        self._expect_heartbeat(member, now)
        self._update(member, request, ticket)
        if self.state is STABLE and self.members.choose_protocol() == self.protocol_name:
            self._note_topics()
            self._store_replacement(member, former_leader or "", request.can_skip_assignment)
        elif self.state in (STABLE, COMPLETING):
            self._prepare_rebalance(now)
        else:
            self._complete_join_if_all_are_in(now)

    def _take_over(self, old_id: str, new_id: str) -> Member:
        """The one that was there before is fenced, and told so if it waits for something."""
        member = self.members[old_id]
        join_ticket, sync_ticket = self.members.take_join(member), member.sync_ticket
        member.sync_ticket = None
        if join_ticket is not None:
            self._answer(join_ticket, JoinAnswer(error=ErrorCode.FENCED_INSTANCE_ID, member_id=old_id))
        if sync_ticket is not None:
            self._answer(sync_ticket, SyncAnswer(error=ErrorCode.FENCED_INSTANCE_ID))
        if old_id in self._unsynced:
            self._unsynced.remove(old_id)
            self._unsynced.add(new_id)
        return self.members.rename(old_id, new_id)

    def _store_replacement(self, member: Member, former_leader: str, can_skip_assignment: bool) -> None:
        """Answer with the running generation, once the new id is stored.

        An old client that leads must not believe it does, or it would assign and nobody would listen; from v9 on it is
        told to skip that (KIP-814).
        """
        member_id = member.member_id

        def stored(now: Now) -> Effects:
            self._out = Effects()
            if self.state is not STABLE or member_id not in self.members:
                return self._out  # it waits for a rebalance that has begun since, or was replaced or removed
            current = self.members[member_id]
            ticket = self.members.take_join(current)
            if ticket is not None:
                self._expect_heartbeat(current, now)
                self._answer(ticket, self._replacement_answer(current, former_leader, can_skip_assignment))
            return self._out

        def refused(code: ErrorCode, now: Now) -> Effects:
            self._out = Effects()
            if member_id in self.members:
                ticket = self.members.take_join(self.members[member_id])
                if ticket is not None:
                    self._answer(ticket, JoinAnswer(error=code))
            return self._out

        self._out.records.append(GroupRecord(self.value(), stored, refused))

    def _replacement_answer(self, member: Member, former_leader: str, can_skip_assignment: bool) -> JoinAnswer:
        if can_skip_assignment:
            return self._join_answer(member, skip_assignment=True)
        return JoinAnswer(
            member_id=member.member_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=former_leader,
        )

    # --- SyncGroup, Heartbeat, LeaveGroup ----------------------------------------------------------------------------

    def sync(
        self,
        who: Identity,
        generation: int,
        protocol: tuple[str | None, str | None],
        assignments: Mapping[str, bytes],
        ticket: Ticket,
    ) -> Effects:
        """`protocol` is the type and name that the member believes in, None where its version does not say."""
        self._out = Effects()
        try:
            member = self._check_sync(who, generation, protocol)
        except KafkaError as error:
            self._answer(ticket, SyncAnswer(error=error.code))
            return self._out
        self._synced(member.member_id)
        if self.state is STABLE:
            self._answer(ticket, self._sync_answer(member))
            return self._out
        if member.sync_ticket is not None:
            self._answer(member.sync_ticket, SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_ticket = ticket
        if member.member_id == self.members.leader_id:
            self._store_assignment(assignments)
        return self._out

    def _check_sync(self, who: Identity, generation: int, protocol: tuple[str | None, str | None]) -> Member:
        if self.state is DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        member = self.members.check(who.member_id, who.instance_id)
        if generation != self.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        for believed, actual in zip(protocol, (self.protocol_type, self.protocol_name), strict=True):
            if believed is not None and actual is not None and believed != actual:
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state is PREPARING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        return member

    def heartbeat(self, who: Identity, generation: int, now: Now) -> ErrorCode:
        if self.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        try:
            member = self.members.check(who.member_id, who.instance_id)
        except KafkaError as error:
            return error.code
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._expect_heartbeat(member, now)
        return ErrorCode.REBALANCE_IN_PROGRESS if self.state is PREPARING else ErrorCode.NONE

    def leave(self, leaving: Sequence[Identity], now: Now) -> tuple[list[ErrorCode], Effects]:
        """One error code for each of `leaving`."""
        self._out = Effects()
        if self.state is DEAD:
            return [ErrorCode.COORDINATOR_NOT_AVAILABLE] * len(leaving), self._out
        codes = [self._leave_one(item) for item in leaving]
        if ErrorCode.NONE in codes:
            if self.state in (STABLE, COMPLETING):
                self._prepare_rebalance(now)
            else:
                self._complete_join_if_all_are_in(now)
        return codes, self._out

    def _leave_one(self, leaving: Identity) -> ErrorCode:
        member_id = leaving.member_id
        if member_id == "" and leaving.instance_id is not None:
            # An administrator removes a static member by its instance.
            member_id = self.members.of_instance(leaving.instance_id) or ""
        elif self.pending.pop(member_id, None) is not None:
            return ErrorCode.NONE
        try:
            self.members.check(member_id, leaving.instance_id)
        except KafkaError as error:
            return error.code
        self._remove(member_id)
        return ErrorCode.NONE

    # --- held by a subscription --------------------------------------------------------------------------------------

    def hold(self, holder: Holder, now: Now) -> None:
        """A subscription of the push door takes the group: it is active, and no Kafka member may join.

        KafkaError INCONSISTENT_GROUP_PROTOCOL if the group has members of its own.
        """
        if self.holder is not holder and (self.state is not EMPTY or self.pending):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"{self.group_id} is a consumer group with Kafka members; stop them, or choose another name",
            )
        self.holder = holder
        self.state = STABLE
        self.state_ms = now.wall_ms
        self.protocol_type = CONSUMER
        self.protocol_name = PUSH

    def release(self, holder: Holder, now: Now) -> None:
        """The subscription has no members any more."""
        if self.holder is holder:
            self.holder = None
            self.protocol_type = self.protocol_name = None
            if self.state is STABLE:
                self.state = EMPTY
                self.state_ms = now.wall_ms

    @property
    def shown_members(self) -> Iterable[Member]:
        return self.members if self.holder is None else self.holder.group_members()

    # --- offsets, deletion -------------------------------------------------------------------------------------------

    def check_pending_commit(self, who: Identity, generation: int, now: Now) -> None:
        """The same inside a transaction: a client that does not say who it is was fenced by its transactional id."""
        if self.state is DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation < 0 and (self.state is EMPTY or (not who.member_id and who.instance_id is None)):
            return
        member = self.members.check(who.member_id, who.instance_id)
        if generation != self.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        self._expect_heartbeat(member, now)

    def check_commit(self, who: Identity, generation: int, now: Now) -> None:
        """Whether an offset commit is from whom it says; it also counts as a sign of life."""
        if self.state is DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation < 0 and self.state is EMPTY:
            return  # an admin client, or a consumer that assigns partitions by itself
        member = self.members.check(who.member_id, who.instance_id)
        if generation != self.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if self.state is COMPLETING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._expect_heartbeat(member, now)

    def check_delete(self) -> None:
        if self.state is DEAD:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.state is not EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """Offsets of a live group may go only if we can tell which topics it reads."""
        if self.protocol_type != CONSUMER:
            self.check_delete()

    def reads(self, topic: str) -> bool:
        if self.topics is None:
            return self.protocol_type == CONSUMER
        return topic in self.topics

    def trim(self, now: Now) -> Effects:
        """After loading: a group above a limit that was lowered must rebalance; the last to come are refused."""
        self._out = Effects()
        if len(self.members) > self._limits.members_max:
            self._prepare_rebalance(now)
        return self._out

    def abandon(self, code: ErrorCode) -> Sequence[Delivery]:
        """The state in memory is not to be trusted any more: answer everybody who waits, and be dead."""
        self._out = Effects()
        for member in self.members:
            ticket = self.members.take_join(member)
            if ticket is not None:
                self._answer(ticket, JoinAnswer(error=code, member_id=member.member_id))
            if member.sync_ticket is not None:
                self._answer(member.sync_ticket, SyncAnswer(error=code))
                member.sync_ticket = None
        self.state = DEAD
        self.wake_ms = None
        return self._out.deliveries
