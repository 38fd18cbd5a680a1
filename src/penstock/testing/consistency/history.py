"""A history: what clients tried, with what outcome, and what they saw.

An operation is known by its client and number. Times are nanoseconds of one monotonic clock for all clients, which
processes of one machine share. An outcome is

    ok       the broker said so
    fail     it certainly had no effect, and never will
    unknown  no answer, or one that does not say: it may have had its effect, may have it later, or never

A transaction that was never asked to commit cannot commit, whatever else happened to it; so `unknown` leaves
something open only where a commit was asked for. Values are unique: each is written by one operation.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

NEVER: Final = 1 << 62
"""The time of what has not happened."""
NOWHERE: Final = -1
"""An offset that is not known."""


class Outcome(enum.StrEnum):
    OK = "ok"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Isolation(enum.StrEnum):
    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


class Generation(enum.IntEnum):
    """Generation of the transaction protocol: V2 (KIP-890) gives every transaction an epoch of its own."""

    V1 = 1
    V2 = 2


class End(enum.StrEnum):
    COMMIT = "commit"
    ABORT = "abort"


class Partition(NamedTuple):
    topic: str
    partition_index: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition_index}"


class Seen(NamedTuple):
    """A record as a reader got it."""

    topic: str
    partition_index: int
    offset: int
    value: str

    @property
    def partition(self) -> Partition:
        return Partition(self.topic, self.partition_index)


class Position(NamedTuple):
    """Where a consumer begins in a partition it was given; `NOWHERE`: wherever its group was."""

    topic: str
    partition_index: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    client: str
    number: int
    started: int
    ended: int = NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Operation):
    topic: str
    partition_index: int
    value: str
    transaction: str | None = None
    outcome: Outcome = Outcome.UNKNOWN
    offset: int = NOWHERE

    @property
    def partition(self) -> Partition:
        return Partition(self.topic, self.partition_index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction(Operation):
    """A transaction from its begin (`started`) to the answer to its end (`ended`), requested at `end_started`.

    `producer` counts how often the client took over the transactional id: with each, requests of the one before are
    fenced.
    """

    name: str
    transactional_id: str
    generation: Generation
    producer: int = 0
    end: End | None = None
    end_started: int = NEVER
    outcome: Outcome = Outcome.UNKNOWN

    @property
    def committed(self) -> bool:
        return self.end is End.COMMIT and self.outcome is Outcome.OK

    @property
    def can_commit(self) -> bool:
        return self.end is End.COMMIT and self.outcome is not Outcome.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll(Operation):
    """The records that one call of a consumer returned, in order."""

    isolation: Isolation
    records: tuple[Seen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Operation):
    """The partitions that a consumer has from now on, and no others: at its start, after a rebalance or a seek."""

    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FullRead(Operation):
    """One partition read from its beginning, when all clients had left and all transactions were ended.

    `reached` is the offset after the last one read, `log_end` the end of the log.
    """

    isolation: Isolation
    topic: str
    partition_index: int
    reached: int
    log_end: int
    records: tuple[Seen, ...]

    @property
    def partition(self) -> Partition:
        return Partition(self.topic, self.partition_index)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit(Operation):
    group: str
    topic: str
    partition_index: int
    offset: int
    transaction: str | None = None
    outcome: Outcome = Outcome.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch(Operation):
    """A successful fetch of stable offsets (`require_stable`); `NOWHERE`: the group has none."""

    group: str
    topic: str
    partition_index: int
    offset: int


class History:
    """Operations sorted by kind, with what the checks look up. Those of one client keep their order."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.operations = list(operations)
        self.writes: dict[str, Write] = {}
        self.transactions: dict[str, Transaction] = {}
        self.reads: list[Poll | FullRead] = []
        self.full_reads: list[FullRead] = []
        self.courses: dict[str, list[Poll | Assignment]] = {}
        self.commits: list[OffsetCommit] = []
        self.fetches: list[OffsetFetch] = []
        for operation in self.operations:
            self._sort(operation)

    def _sort(self, operation: Operation) -> None:
        match operation:
            case Write(value=value):
                if value in self.writes:
                    raise ValueError(f"two writes of {value!r}: a history needs unique values")
                self.writes[value] = operation
            case Transaction(name=name):
                self.transactions[name] = operation
            case FullRead():
                self.reads.append(operation)
                self.full_reads.append(operation)
            case Poll():
                self.reads.append(operation)
                self.courses.setdefault(operation.client, []).append(operation)
            case Assignment():
                self.courses.setdefault(operation.client, []).append(operation)
            case OffsetCommit():
                self.commits.append(operation)
            case OffsetFetch():
                self.fetches.append(operation)

    def transaction_of(self, operation: Write | OffsetCommit) -> Transaction | None:
        return None if operation.transaction is None else self.transactions[operation.transaction]

    def writes_by_transaction(self) -> dict[str, list[Write]]:
        found: dict[str, list[Write]] = {}
        for write in self.writes.values():
            if write.transaction is not None:
                found.setdefault(write.transaction, []).append(write)
        return found

    def commits_by_transaction(self) -> dict[str, list[OffsetCommit]]:
        found: dict[str, list[OffsetCommit]] = {}
        for commit in self.commits:
            if commit.transaction is not None:
                found.setdefault(commit.transaction, []).append(commit)
        return found
