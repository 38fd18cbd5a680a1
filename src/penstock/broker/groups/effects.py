"""Effects of a group's state machine, as plain values: they can be compared, and a run of them can be replayed.

A group never acts by itself. Each of its methods that can change something returns `Effects`; the shard stores the
records and offsets as one atomic batch, delivers the replies, and then feeds every event of `then` back into the group
as `Stored` or `Refused` (`CoordinatedGroup.resume`).

A request that cannot be answered yet leaves its `Ticket` in the group. The answer comes out later, as a `Reply` among
the effects of some other call.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.broker.groups.offsets.records import OffsetChange
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode

Ticket = Hashable
"""A request that waits for its answer. A group only keeps the ticket and gives it back."""


class Now(NamedTuple):
    """Both clocks: spans are measured by one, records are stamped with the other."""

    monotonic_ms: int
    wall_ms: int


class Reply(NamedTuple):
    """The answer to a request; each kind of group has answers of its own."""

    ticket: Ticket
    answer: object


class Event:
    """Base of the events that a group wants back once the records of its effects are stored or refused."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """The records that came with the event are on disk."""

    event: Event


@dataclass(frozen=True, slots=True)
class Refused:
    """The records that came with the event will never be on disk; `code` is for the members."""

    event: Event
    code: ErrorCode


@dataclass(slots=True)
class Effects:
    """Consequences of one input.

    Records, of whatever kind, and offsets are stored together or not at all. Replies wait for that and are delivered
    in either case: an answer that depends on the outcome is made by `CoordinatedGroup.resume`.
    """

    records: list[NewRecord] = field(default_factory=list)
    offsets: list[OffsetChange] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    then: list[Event] = field(default_factory=list)
    summary: str = ""
    """One line for the broker's log when the records are on disk."""


class Step:
    """One input of a group: its time, and the effects that gather while it is handled."""

    __slots__ = ("effects", "now")

    def __init__(self, now: Now) -> None:
        self.now = now
        self.effects = Effects()

    def reply(self, ticket: Ticket, answer: object) -> None:
        self.effects.replies.append(Reply(ticket, answer))
