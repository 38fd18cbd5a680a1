"""Requests, answers and events of a classic group: plain values between the state machine and its driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import getsizeof
from typing import NamedTuple

from penstock.broker.groups.claim import Identity
from penstock.broker.groups.effects import Event
from penstock.model.errors import ErrorCode

Protocols = tuple[tuple[str, bytes], ...]
"""Names of assignors that a member offers, each with the member's metadata for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    needs_member_id: bool  # KIP-394, JoinGroup v4+: a new member first gets its id, then joins with it
    can_skip_assignment: bool  # KIP-814, JoinGroup v9+


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinAnswer:
    error: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """`protocol_type` and `protocol_name` are None where the version of the request does not have them."""

    who: Identity
    generation: int
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncAnswer:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class LeaveAnswer:
    """One error code for each member that was to leave."""

    codes: tuple[ErrorCode, ...]


@dataclass(frozen=True, slots=True)
class Assignment(Event):
    """The leader's assignment for a generation: stored, the group is Stable; refused, it rebalances again."""

    generation: int
    assignments: Mapping[str, bytes]

    @property
    def kept_bytes(self) -> int:
        return sum(map(getsizeof, self.assignments.values()))


@dataclass(frozen=True, slots=True)
class Replacement(Event):
    """A static member that has come back under a new id; its join is answered once the new id is stored."""

    member_id: str
    former_leader: str
    can_skip_assignment: bool
