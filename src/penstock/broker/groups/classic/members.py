"""The members of a group by id and by instance, the protocols that each offers, and the leader.

Only bookkeeping, also of the memory that they take: no states, no time, no answers. The first member to join leads
until it leaves. A protocol can be chosen if every member offers it, and each member votes for the first of those in its
own order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from sys import getsizeof
from typing import Final

from penstock.broker.groups.classic.exchange import JoinedMember, Protocols
from penstock.broker.groups.classic.records import MemberValue
from penstock.broker.groups.effects import Ticket
from penstock.broker.groups.memory import GroupAccount, kept_bytes
from penstock.model.errors import ErrorCode, KafkaError

MEMBER_BYTES: Final = 600
"""Memory of a member besides its texts, about."""


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """One consumer in a group. `deadline_ms` is when its session ends, None while no heartbeat is expected."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None
    deadline_ms: int | None = None

    @property
    def kept_bytes(self) -> int:
        """The memory of the member and its metadata, without its assignment."""
        names = kept_bytes(self.member_id, self.instance_id, self.client_id, self.client_host)
        return MEMBER_BYTES + names + protocols_bytes(self.protocols)

    @classmethod
    def restored(cls, value: MemberValue, protocol: str | None) -> Member:
        """A member as the record of its group has it."""
        return cls(
            member_id=value.member_id,
            instance_id=value.instance_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            session_timeout_ms=value.session_timeout_ms,
            protocols=((protocol or "", value.subscription),),
            assignment=value.assignment,
        )

    def value(self, protocol: str | None, assignment: bytes) -> MemberValue:
        """The member as the record of its group has it, with the given assignment."""
        return MemberValue(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    @property
    def is_waiting(self) -> bool:
        """Whether a parked request keeps the member alive. The first join does not: its wait has a limit."""
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)


class Members:
    """The members of one group, in the order in which they joined."""

    def __init__(self, account: GroupAccount) -> None:
        self._account = account
        self._by_id: dict[str, Member] = {}
        self._instances: dict[str, str] = {}
        self._offers: Counter[str] = Counter()
        self.leader_id: str | None = None
        self.waiting_to_join = 0
        """How many members have a parked JoinGroup."""
        self.assignment_bytes = 0
        """Memory of all assignments."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(tuple(self._by_id.values()))

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> Member:
        return self._by_id[member_id]

    def of_instance(self, instance_id: str) -> str | None:
        return self._instances.get(instance_id)

    def add(self, member: Member) -> None:
        assert member.member_id not in self._by_id, f"member {member.member_id} is in the group already"
        self._by_id[member.member_id] = member
        self._account.change(member.kept_bytes)
        self._keep_assignment(getsizeof(member.assignment))
        self._offers.update(_names(member.protocols))
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member_id: str) -> None:
        member = self._by_id.pop(member_id)
        assert member.join_ticket is None, "a member was removed without an answer to its join"
        self._account.change(-member.kept_bytes)
        self._keep_assignment(-getsizeof(member.assignment))
        self._withdraw(member)
        if member.instance_id is not None and self._instances.get(member.instance_id) == member_id:
            del self._instances[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self._by_id), None)

    def rename(self, old_id: str, new_id: str) -> Member:
        """Give a static member that has come back its own place under its new id (KIP-345)."""
        member = self._by_id.pop(old_id)
        before = member.kept_bytes
        member.member_id = new_id
        self._account.change(member.kept_bytes - before)
        self._by_id[new_id] = member
        assert member.instance_id is not None
        self._instances[member.instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        return member

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        self._withdraw(member)
        self._account.change(protocols_bytes(protocols) - protocols_bytes(member.protocols))
        member.protocols = protocols
        self._offers.update(_names(protocols))

    def assign(self, member: Member, assignment: bytes) -> None:
        self._keep_assignment(getsizeof(assignment) - getsizeof(member.assignment))
        member.assignment = assignment

    def _keep_assignment(self, delta: int) -> None:
        self.assignment_bytes += delta
        self._account.change(delta)

    def _withdraw(self, member: Member) -> None:
        for name in _names(member.protocols):
            self._offers[name] -= 1
            if not self._offers[name]:
                del self._offers[name]

    def all_offer_one_of(self, protocols: Protocols) -> bool:
        return any(self._offers.get(name) == len(self._by_id) for name, _ in protocols)

    def choose_protocol(self) -> str:
        everyone = len(self._by_id)
        votes: Counter[str] = Counter()
        for member in self._by_id.values():
            choice = next((name for name, _ in member.protocols if self._offers[name] == everyone), None)
            assert choice is not None, "a member that shares no protocol with the others was let in"
            votes[choice] += 1
        return votes.most_common(1)[0][0]

    def park_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """Park a JoinGroup. Returns the ticket that it displaces, if the member asked twice."""
        displaced = member.join_ticket
        if displaced is None:
            self.waiting_to_join += 1
        member.join_ticket = ticket
        return displaced

    def take_join(self, member: Member) -> Ticket | None:
        ticket = member.join_ticket
        if ticket is not None:
            self.waiting_to_join -= 1
            member.join_ticket = None
        return ticket

    def elect_waiting_leader(self) -> bool:
        """Keep the leader if it has joined again, else take the first member that has; False if none has."""
        if self.leader_id is not None and self._by_id[self.leader_id].join_ticket is not None:
            return True
        for member in self._by_id.values():
            if member.join_ticket is not None:
                self.leader_id = member.member_id
                return True
        return False

    def check(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request says it is from; a static member that was replaced is fenced."""
        if instance_id is not None:
            current = self._instances.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self._by_id.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def as_joined(self, protocol: str | None) -> tuple[JoinedMember, ...]:
        """The members as the leader sees them."""
        return tuple(JoinedMember(member.member_id, member.instance_id, member.metadata(protocol)) for member in self)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self._by_id.values()), default=0)


def protocols_bytes(protocols: Protocols) -> int:
    """The memory of a member's metadata."""
    return sum(kept_bytes(name, metadata) for name, metadata in protocols)


def _names(protocols: Protocols) -> set[str]:
    return {name for name, _ in protocols}
