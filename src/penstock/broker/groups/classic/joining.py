"""JoinGroup of a classic group: new members, members that join again, and static members that have restarted.

Member ids are handed out before the first join (KIP-394); a static member keeps its place over a restart (KIP-345), and
a static leader may be instructed to keep the assignment (KIP-814).
"""

from __future__ import annotations

from penstock.broker.groups.classic.exchange import JoinAnswer, JoinRequest, Replacement, SyncAnswer
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.classic.members import Member, protocols_bytes
from penstock.broker.groups.classic.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance
from penstock.broker.groups.effects import Step, Ticket
from penstock.broker.groups.memory import kept_bytes
from penstock.model.errors import ErrorCode, KafkaError

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000  # as in Kafka: a new member cannot heartbeat while its first join is parked


class Joining:
    """The join requests of one group."""

    def __init__(self, rebalance: Rebalance, limits: GroupLimits) -> None:
        self._rebalance = rebalance
        self._members = rebalance.members
        self._limits = limits

    def join(self, request: JoinRequest, ticket: Ticket, step: Step) -> None:
        """Answer errors at once, everything else when the rebalance that the request starts or joins is complete."""
        member_id = request.member_id
        pending = self._rebalance.pending
        try:
            if self._rebalance.state is DEAD:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            if not self._has_room_for(member_id):
                pending.forget(member_id)
                self._rebalance.remove(member_id, step)
                member_id = ""
                raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
            if not self._speaks(request):
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            if member_id == "":
                self._join_first(request, ticket, step)
            elif member_id in pending:
                if request.instance_id is not None:  # a static member is never handed an id
                    member_id = ""
                    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
                self._add_member(request, member_id, ticket, step)
            else:
                self._join_again(request, self._members.check(member_id, request.instance_id), ticket, step)
        except KafkaError as error:
            step.reply(ticket, JoinAnswer(error=error.code, member_id=member_id))

    def _has_room_for(self, member_id: str) -> bool:
        members, limit = self._members, self._limits.members_max
        if self._rebalance.state is EMPTY:
            return True
        is_member = member_id in members
        if self._rebalance.state is PREPARING:
            # Waiting members are counted, so that a group above a lowered limit loses the last to come.
            waits = is_member and members[member_id].join_ticket is not None
            return waits or members.waiting_to_join < limit
        return is_member or len(members) < limit

    def _speaks(self, request: JoinRequest) -> bool:
        if self._rebalance.state is EMPTY or not len(self._members):
            return bool(request.protocol_type and request.protocols)
        if request.protocol_type != self._rebalance.generation.protocol_type:
            return False
        return self._members.all_offer_one_of(request.protocols)

    # --- members without a place -------------------------------------------------------------------------------------

    def _join_first(self, request: JoinRequest, ticket: Ticket, step: Step) -> None:
        new_id = self._limits.new_member_id(request.instance_id or request.client_id)
        if request.instance_id is not None:
            current = self._members.of_instance(request.instance_id)
            if current is not None:
                self._check_room(self._members[current], request)
                self._replace_static(request, (current, new_id), ticket, step)
            else:
                self._add_member(request, new_id, ticket, step)
        elif request.needs_member_id:
            self._rebalance.account.check(kept_bytes(new_id))
            self._rebalance.deadlines.expect_pending(new_id, step.now.monotonic_ms + request.session_timeout_ms)
            step.reply(ticket, JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=new_id))
        else:
            self._add_member(request, new_id, ticket, step)

    def _add_member(self, request: JoinRequest, member_id: str, ticket: Ticket, step: Step) -> None:
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
        rebalance = self._rebalance
        rebalance.account.check(member.kept_bytes)
        if not len(self._members):
            rebalance.generation.speak(request.protocol_type)
        rebalance.add(member)
        rebalance.park_join(member, ticket, step)
        rebalance.deadlines.expect_heartbeat(member, step.now.monotonic_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
        rebalance.prepare_or_complete(step)

    # --- members that join again -------------------------------------------------------------------------------------

    def _join_again(self, request: JoinRequest, member: Member, ticket: Ticket, step: Step) -> None:
        state, generation = self._rebalance.state, self._rebalance.generation
        unchanged = member.protocols == request.protocols
        leads = member.member_id == self._members.leader_id
        if state is COMPLETING and unchanged:
            step.reply(ticket, generation.join_answer(member))  # the first answer was lost
        elif state is STABLE and unchanged and not leads:
            step.reply(ticket, generation.join_answer(member))
        else:
            # Also a leader whose own metadata did not change: it saw topics change and wants to assign again.
            self._check_room(member, request)
            self._update(member, request, ticket, step)
            self._rebalance.prepare_or_complete(step)

    def _check_room(self, member: Member, request: JoinRequest) -> None:
        """Raise KafkaError if the member would keep more than before, and there is no room for that."""
        self._rebalance.account.check(protocols_bytes(request.protocols) - protocols_bytes(member.protocols))

    def _update(self, member: Member, request: JoinRequest, ticket: Ticket, step: Step) -> None:
        self._members.set_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        self._rebalance.park_join(member, ticket, step)

    # --- static members that have restarted --------------------------------------------------------------------------

    def _replace_static(self, request: JoinRequest, ids: tuple[str, str], ticket: Ticket, step: Step) -> None:
        """Let a restarted static member take over its own place; without other changes no rebalance is needed."""
        rebalance = self._rebalance
        former_leader = self._members.leader_id
        member = self._take_over(*ids, step)
        rebalance.deadlines.expect_heartbeat(member, step.now.monotonic_ms)
        self._update(member, request, ticket, step)
        if rebalance.state is STABLE and self._members.choose_protocol() == rebalance.generation.protocol_name:
            rebalance.generation.note_topics()
            event = Replacement(member.member_id, former_leader or "", request.can_skip_assignment)
            rebalance.store(step, event)
        elif rebalance.state in (STABLE, COMPLETING):
            rebalance.prepare(step)
        else:
            rebalance.complete_join_if_all_are_in(step)

    def _take_over(self, old_id: str, new_id: str, step: Step) -> Member:
        """Fence the former holder of the place: its parked requests are answered FENCED_INSTANCE_ID."""
        member = self._members[old_id]
        join_ticket, sync_ticket = self._members.take_join(member), member.sync_ticket
        member.sync_ticket = None
        if join_ticket is not None:
            step.reply(join_ticket, JoinAnswer(error=ErrorCode.FENCED_INSTANCE_ID, member_id=old_id))
        if sync_ticket is not None:
            step.reply(sync_ticket, SyncAnswer(error=ErrorCode.FENCED_INSTANCE_ID))
        return self._rebalance.rename(old_id, new_id)

    def replacement_stored(self, event: Replacement, step: Step) -> None:
        """Answer with the running generation, now that the new id is on disk.

        An old client that leads must not believe that it does, or it would send an assignment that is not used; from
        v9 on the answer tells it to skip that (KIP-814).
        """
        rebalance = self._rebalance
        if rebalance.state is not STABLE or event.member_id not in self._members:
            return  # it waits for a rebalance that has begun since, or was replaced or removed
        member = self._members[event.member_id]
        ticket = self._members.take_join(member)
        if ticket is not None:
            rebalance.deadlines.expect_heartbeat(member, step.now.monotonic_ms)
            if event.can_skip_assignment:
                answer = rebalance.generation.join_answer(member, skip_assignment=True)
            else:
                answer = rebalance.generation.follower_answer(member, event.former_leader)
            step.reply(ticket, answer)

    def replacement_refused(self, event: Replacement, code: ErrorCode, step: Step) -> None:
        if event.member_id in self._members:
            ticket = self._members.take_join(self._members[event.member_id])
            if ticket is not None:
                step.reply(ticket, JoinAnswer(error=code))
