"""What goes into a group and what comes out: plain values between the state machine and its driver.

A request that cannot be answered yet leaves its `Ticket` in the group; the answer comes out later as a `Delivery` of
some other call. When an `Effects` has records, its deliveries wait until the records are on disk, and then `stored` of
each record is called, which may have more to say.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.broker.groups.records import GroupValue
from penstock.model.errors import ErrorCode

Ticket = Hashable
"""Who waits for an answer; the state machine only keeps it and gives it back."""


class Now(NamedTuple):
    """Both clocks: spans are measured by one, records are stamped with the other."""

    monotonic_ms: int
    wall_ms: int


class GroupState(enum.Enum):
    """Values are the names that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
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
class SyncAnswer:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class Delivery(NamedTuple):
    ticket: Ticket
    answer: JoinAnswer | SyncAnswer


class GroupRecord(NamedTuple):
    """Group metadata to be stored. One of the two is called when that has happened, or was refused."""

    value: GroupValue
    stored: Callable[[Now], Effects] | None = None
    refused: Callable[[ErrorCode, Now], Effects] | None = None


@dataclass(slots=True)
class Effects:
    deliveries: list[Delivery] = field(default_factory=list)
    records: list[GroupRecord] = field(default_factory=list)
