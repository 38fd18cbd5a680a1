"""A group that a push subscription holds while it has members.

It looks like a stable consumer group, because Kafka's tools would not show it otherwise; no Kafka member may join, and
offset commits of Kafka clients are refused. The group that existed before is set aside, and comes back when the last
member of the subscription has left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from penstock.broker.groups.claim import CommitClaim
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.description import GroupDescription, MemberDescription
from penstock.broker.groups.effects import Effects, Now, Refused, Reply, Stored
from penstock.broker.groups.embedded_protocol import CONSUMER
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupState, GroupType
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError

PUSH = "push"
"""The protocol name of a held group, in place of an assignor."""


class Holder(Protocol):
    """A subscription that holds a group."""

    def group_members(self) -> Collection[MemberDescription]: ...


def check_hold(group: CoordinatedGroup) -> None:
    """INCONSISTENT_GROUP_PROTOCOL if Kafka members use the group."""
    if not isinstance(group, HeldGroup) and group.member_count:
        raise _in_use(group.group_id)


def hold(group: CoordinatedGroup, holder: Holder) -> HeldGroup:
    """The group as the subscription holds it. INCONSISTENT_GROUP_PROTOCOL if it is in use otherwise."""
    if isinstance(group, HeldGroup) and group.holder is holder:
        return group
    if not isinstance(group, ClassicGroup) or not group.is_vacant:
        raise _in_use(group.group_id)
    return HeldGroup(group, holder)


def _in_use(group_id: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        f"{group_id} is a consumer group with Kafka members; stop them, or choose another name",
    )


class HeldGroup:
    """A group between the first member of a subscription and the last. It has no timers and no records of its own."""

    group_type = GroupType.CLASSIC
    protocol_type = CONSUMER
    is_vacant = False
    wake_ms = None

    def __init__(self, resting: ClassicGroup, holder: Holder) -> None:
        self.group_id = resting.group_id
        self.holder = holder
        self.state = GroupState.STABLE
        self._resting = resting

    def release(self, now: Now) -> CoordinatedGroup:
        """The group that was there before, empty from now on."""
        self._resting.release(now)
        return self._resting

    @property
    def member_count(self) -> int:
        return len(self.holder.group_members())

    def describe(self) -> GroupDescription:
        return GroupDescription(
            group_id=self.group_id,
            group_type=self.group_type,
            state=self.state,
            generation=self._resting.generation,
            protocol_type=CONSUMER,
            protocol_name=PUSH,
            members=tuple(self.holder.group_members()),
        )

    def advance(self, now: Now) -> Effects:
        return Effects()

    def resume(self, outcome: Stored | Refused, now: Now) -> Effects:
        return self._resting.resume(outcome, now)

    def loaded(self, now: Now) -> Effects:
        return Effects()

    def abandon(self, code: ErrorCode) -> Sequence[Reply]:
        self.state = GroupState.DEAD
        return self._resting.abandon(code)

    def check_commit(self, claim: CommitClaim, now: Now) -> None:
        """Refuse commits of Kafka clients, except anonymous ones in transactions; the subscription has its own path."""
        if self.state is GroupState.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not (claim.in_transaction and claim.is_anonymous):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def check_delete(self) -> None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if self.state is GroupState.DEAD else ErrorCode.NON_EMPTY_GROUP)

    def check_delete_offsets(self) -> None:
        """`reads` refuses each topic."""

    def reads(self, topic: str) -> bool:
        return True

    def retention_start_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        return None

    def tombstones(self) -> list[NewRecord]:
        return self._resting.tombstones()
