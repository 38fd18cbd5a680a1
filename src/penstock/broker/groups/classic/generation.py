"""One generation of a classic group: its number, the protocol that was chosen, and the topics that members read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.broker.groups.classic.exchange import JoinAnswer, SyncAnswer
from penstock.broker.groups.classic.members import Member, Members
from penstock.broker.groups.classic.records import GroupValue
from penstock.broker.groups.embedded_protocol import subscribed_topics
from penstock.broker.groups.memory import GroupAccount, kept_bytes

TOPIC_BYTES: Final = 100
"""Memory of a topic that is remembered, about."""


class Generation:
    """The running generation; before the first one its number is 0."""

    def __init__(self, members: Members, account: GroupAccount) -> None:
        self._members = members
        self._account = account
        self.number = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.topics: frozenset[str] | None = None
        """Topics that members subscribed to, None if they cannot be known."""

    def begin(self) -> None:
        """Begin the next generation with the members that there are."""
        self.number += 1
        self.protocol_name = self._members.choose_protocol() if len(self._members) else None
        self.note_topics()

    def note_topics(self) -> None:
        before = len(self.topics or ())
        self.topics = subscribed_topics(
            self.protocol_type, {member.metadata(self.protocol_name) for member in self._members}
        )
        self._account.change((len(self.topics or ()) - before) * TOPIC_BYTES)

    def speak(self, protocol_type: str | None) -> None:
        """Take the protocol type of the first member; it stays when the members are gone."""
        self._account.change(kept_bytes(protocol_type) - kept_bytes(self.protocol_type))
        self.protocol_type = protocol_type

    def clear_protocol(self) -> None:
        """Forget the protocol of members that are gone."""
        self.speak(None)
        self.protocol_name = None

    def restore(self, value: GroupValue) -> None:
        """Continue from the record of the group, once its members have been restored."""
        self.number = value.generation
        self.speak(value.protocol_type or None)
        self.protocol_name = value.protocol
        self.note_topics()

    def value(self, state_ms: int, assignments: Mapping[str, bytes] | None = None) -> GroupValue:
        """The record of the group as it is, or with the assignments that it is about to get."""
        return GroupValue(
            protocol_type=self.protocol_type or "",
            generation=self.number,
            protocol=self.protocol_name,
            leader=self._members.leader_id,
            state_ms=state_ms,
            members=tuple(
                member.value(
                    self.protocol_name,
                    member.assignment if assignments is None else assignments.get(member.member_id, b""),
                )
                for member in self._members
            ),
        )

    def join_answer(self, member: Member, *, skip_assignment: bool = False) -> JoinAnswer:
        """The answer to a join: the leader gets the list of members, and may have to keep the assignment (KIP-814)."""
        is_leader = member.member_id == self._members.leader_id
        return JoinAnswer(
            member_id=member.member_id,
            generation=self.number,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self._members.leader_id or "",
            skip_assignment=skip_assignment and is_leader,
            members=self._members.as_joined(self.protocol_name) if is_leader else (),
        )

    def follower_answer(self, member: Member, leader: str) -> JoinAnswer:
        """The answer to a member that must not believe that it leads."""
        return JoinAnswer(
            member_id=member.member_id,
            generation=self.number,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader,
        )

    def sync_answer(self, member: Member) -> SyncAnswer:
        return SyncAnswer(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )
