"""LeaveGroup of a classic group: members leave by themselves, or an administrator removes them."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import LeaveAnswer
from penstock.broker.groups.classic.rebalance import COMPLETING, DEAD, STABLE, Rebalance
from penstock.broker.groups.effects import Step, Ticket
from penstock.model.errors import ErrorCode, KafkaError


class Leaving:
    """The leave requests of one group."""

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def leave(self, leaving: Sequence[Identity], ticket: Ticket, step: Step) -> None:
        """Answer with one error code for each of `leaving`; the members that stay share the partitions again."""
        rebalance = self._rebalance
        if rebalance.state is DEAD:
            codes = (ErrorCode.COORDINATOR_NOT_AVAILABLE,) * len(leaving)
        else:
            codes = tuple([self._leave_one(item, step) for item in leaving])
            if ErrorCode.NONE in codes:
                if rebalance.state in (STABLE, COMPLETING):
                    rebalance.prepare(step)
                else:
                    rebalance.complete_join_if_all_are_in(step)
        step.reply(ticket, LeaveAnswer(codes))

    def _leave_one(self, leaving: Identity, step: Step) -> ErrorCode:
        members = self._rebalance.members
        member_id = leaving.member_id
        if member_id == "" and leaving.instance_id is not None:
            # An administrator removes a static member by its instance.
            member_id = members.of_instance(leaving.instance_id) or ""
        elif self._rebalance.pending.forget(member_id):
            return ErrorCode.NONE
        try:
            members.check(member_id, leaving.instance_id)
        except KafkaError as error:
            return error.code
        self._rebalance.remove(member_id, step)
        return ErrorCode.NONE
