"""SyncGroup of a classic group: the leader brings the assignment, every member gets its part."""

from __future__ import annotations

from penstock.broker.groups.classic.exchange import SyncAnswer, SyncRequest
from penstock.broker.groups.classic.members import Member
from penstock.broker.groups.classic.rebalance import PREPARING, STABLE, Rebalance
from penstock.broker.groups.effects import Step, Ticket
from penstock.model.errors import ErrorCode, KafkaError


class Syncing:
    """The sync requests of one group."""

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def sync(self, request: SyncRequest, ticket: Ticket, step: Step) -> None:
        """Answer with the assignment, or wait until the leader's SyncGroup has brought it and it is stored."""
        rebalance = self._rebalance
        try:
            member = self._check(request)
        except KafkaError as error:
            step.reply(ticket, SyncAnswer(error=error.code))
            return
        if rebalance.state is STABLE:
            rebalance.synced(member.member_id)
            step.reply(ticket, rebalance.generation.sync_answer(member))
            return
        if member.member_id == rebalance.members.leader_id:
            try:
                rebalance.store_assignment(self._parts(request), step)
            except KafkaError as error:
                step.reply(ticket, SyncAnswer(error=error.code))
                return
        rebalance.synced(member.member_id)
        if member.sync_ticket is not None:
            step.reply(member.sync_ticket, SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_ticket = ticket

    def _parts(self, request: SyncRequest) -> dict[str, bytes]:
        """The assignments of members; others are not kept."""
        members = self._rebalance.members
        return {member_id: part for member_id, part in request.assignments.items() if member_id in members}

    def _check(self, request: SyncRequest) -> Member:
        generation = self._rebalance.generation
        member = self._rebalance.check_member(request.who, request.generation)
        believed = (request.protocol_type, request.protocol_name)
        for theirs, ours in zip(believed, (generation.protocol_type, generation.protocol_name), strict=True):
            if theirs is not None and ours is not None and theirs != ours:
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self._rebalance.state is PREPARING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        return member
