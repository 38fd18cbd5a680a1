"""Ways to spoil a correct history: each changes what readers were told, and says which anomaly that is.

A mutation returns the changed operations, or None where the history has nothing to spoil in its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random

from penstock.testing.consistency.anomalies import (
    AbortedRead,
    Anomaly,
    DuplicateWrite,
    ForeignValue,
    LostWrite,
    OffsetWentBack,
    ReorderedRecords,
    SkippedRecords,
    StuckPartition,
    TornTransaction,
    TwoValues,
    UncommittedOffset,
    UncommittedRead,
)
from penstock.testing.consistency.history import (
    NEVER,
    NOWHERE,
    FullRead,
    History,
    Isolation,
    OffsetFetch,
    Operation,
    Outcome,
    Poll,
    Seen,
    Transaction,
    Write,
)

Spoilt = list[Operation] | None
Mutation = Callable[[History, Random], Spoilt]


def _without(history: History, values: Iterable[str]) -> list[Operation]:
    """No full read shows these values."""
    gone = set(values)
    return [
        replace(each, records=tuple(record for record in each.records if record.value not in gone))
        if isinstance(each, FullRead)
        else each
        for each in history.operations
    ]


def _exchanged(history: History, old: Operation, new: Operation) -> list[Operation]:
    return [new if each is old else each for each in history.operations]


def _acknowledged(history: History, suits: Callable[[Transaction | None], bool]) -> list[Write]:
    return [
        each for each in history.writes.values() if each.outcome is Outcome.OK and suits(history.transaction_of(each))
    ]


def _full_read(history: History, write: Write, isolation: Isolation) -> FullRead:
    (found,) = [e for e in history.full_reads if e.partition == write.partition and e.isolation is isolation]
    return found


def _with_record(read: FullRead, record: Seen) -> FullRead:
    return replace(read, records=tuple(sorted({*read.records, record}, key=lambda each: each.offset)))


def lose(history: History, random: Random) -> Spoilt:
    owed = _acknowledged(history, lambda transaction: transaction is None or transaction.committed)
    return _without(history, [random.choice(owed).value]) if owed else None


def duplicate(history: History, random: Random) -> Spoilt:
    reads = [each for each in history.full_reads if each.records]
    if not reads:
        return None
    read = random.choice(reads)
    copy = random.choice(read.records)._replace(offset=read.log_end)
    return _exchanged(
        history, read, replace(_with_record(read, copy), reached=copy.offset + 1, log_end=copy.offset + 1)
    )


def exchange_value(history: History, random: Random) -> Spoilt:
    polls = [each for each in history.reads if isinstance(each, Poll) and each.records]
    if not polls:
        return None
    poll = random.choice(polls)
    place = random.randrange(len(poll.records))
    others = [each for each in history.writes if each != poll.records[place].value]
    if not others:
        return None
    records = list(poll.records)
    records[place] = records[place]._replace(value=random.choice(others))
    return _exchanged(history, poll, replace(poll, records=tuple(records)))


def invent(history: History, random: Random) -> Spoilt:
    read = random.choice(history.full_reads)
    record = Seen(*read.partition, read.log_end, "invented")
    return _exchanged(
        history, read, replace(_with_record(read, record), reached=record.offset + 1, log_end=record.offset + 1)
    )


def show_aborted(history: History, random: Random) -> Spoilt:
    aborted = _acknowledged(history, lambda transaction: transaction is not None and not transaction.can_commit)
    if not aborted:
        return None
    write = random.choice(aborted)
    read = _full_read(history, write, Isolation.COMMITTED)
    return _exchanged(history, read, _with_record(read, Seen(*write.partition, write.offset, write.value)))


def show_early(history: History, random: Random) -> Spoilt:
    committed = _acknowledged(history, lambda transaction: transaction is not None and transaction.committed)
    early = [each for each in committed if each.ended < history.transactions[str(each.transaction)].end_started]
    if not early:
        return None
    write = random.choice(early)
    seen = (Seen(*write.partition, write.offset, write.value),)
    poll = Poll(
        client="early bird",
        number=0,
        started=write.ended,
        ended=write.ended,
        isolation=Isolation.COMMITTED,
        records=seen,
    )
    return [*history.operations, poll]


def tear(history: History, random: Random) -> Spoilt:
    shown = {record.value for read in history.full_reads for record in read.records}
    candidates = [
        [each for each in writes if each.outcome is Outcome.OK and each.value in shown]
        for name, writes in history.writes_by_transaction().items()
        if history.transactions[name].committed
    ]
    candidates = [each for each in candidates if len(each) > 1]
    return _without(history, [random.choice(random.choice(candidates)).value]) if candidates else None


def hold_back(history: History, random: Random) -> Spoilt:
    reads = [each for each in history.full_reads if each.log_end]
    if not reads:
        return None
    read = random.choice(reads)
    reached = random.randrange(read.log_end)
    kept = tuple(record for record in read.records if record.offset < reached)
    return _exchanged(history, read, replace(read, reached=reached, records=kept))


def _neighbours(history: History, count: int) -> list[tuple[Poll, int]]:
    """Polls with that many records of one partition in a row, and where these begin."""
    return [
        (poll, start)
        for poll in history.reads
        if isinstance(poll, Poll)
        for start in range(len(poll.records) - count + 1)
        if len({record.partition for record in poll.records[start : start + count]}) == 1
    ]


def skip(history: History, random: Random) -> Spoilt:
    places = _neighbours(history, 3)
    if not places:
        return None
    poll, start = random.choice(places)
    records: Sequence[Seen] = poll.records[: start + 1] + poll.records[start + 2 :]
    return _exchanged(history, poll, replace(poll, records=tuple(records)))


def reorder(history: History, random: Random) -> Spoilt:
    places = _neighbours(history, 2)
    if not places:
        return None
    poll, start = random.choice(places)
    records = list(poll.records)
    records[start], records[start + 1] = records[start + 1], records[start]
    return _exchanged(history, poll, replace(poll, records=tuple(records)))


def forget_offsets(history: History, random: Random) -> Spoilt:
    late = []
    for commit in history.commits:
        transaction = history.transaction_of(commit)
        if commit.outcome is Outcome.OK and (transaction is None or transaction.committed):
            certain = commit.ended if transaction is None else transaction.ended
            late += [each for each in history.fetches if each.group == commit.group and each.started > certain]
    if not late:
        return None
    fetch = random.choice(late)
    return _exchanged(history, fetch, replace(fetch, offset=NOWHERE))


def show_aborted_offset(history: History, random: Random) -> Spoilt:
    transactions = history.commits_by_transaction().items()
    aborted = [each for name, commits in transactions if not history.transactions[name].can_commit for each in commits]
    if not aborted:
        return None
    commit = random.choice(aborted)
    fetch = OffsetFetch(
        client="watcher",
        number=-1,
        started=commit.ended,
        ended=commit.ended,
        group=commit.group,
        topic=commit.topic,
        partition_index=commit.partition_index,
        offset=commit.offset,
    )
    return [*history.operations, fetch]


def _fetched_transactions(history: History) -> list[tuple[Transaction, set[int]]]:
    """With acknowledged values, and acknowledged offsets of which one was fetched."""
    fetched = {fetch.offset for fetch in history.fetches}
    commits = history.commits_by_transaction()
    found = []
    for name, writes in history.writes_by_transaction().items():
        offsets = {each.offset for each in commits.get(name, []) if each.outcome is Outcome.OK}
        is_written = any(each.outcome is Outcome.OK for each in writes)
        if history.transactions[name].can_commit and is_written and offsets & fetched:
            found.append((history.transactions[name], offsets))
    return found


def _unanswered(operations: list[Operation], transaction: Transaction) -> list[Operation]:
    """The client does not know of the transaction's end."""
    unknown = replace(transaction, outcome=Outcome.UNKNOWN, ended=NEVER)
    return [unknown if each is transaction else each for each in operations]


def tear_off_offsets(history: History, random: Random) -> Spoilt:
    """All values of a transaction are there, its offsets are not."""
    found = _fetched_transactions(history)
    if not found:
        return None
    transaction, offsets = random.choice(found)
    return [
        replace(each, offset=NOWHERE) if isinstance(each, OffsetFetch) and each.offset in offsets else each
        for each in _unanswered(history.operations, transaction)
    ]


def tear_off_records(history: History, random: Random) -> Spoilt:
    """No reader of committed data has seen anything of a transaction whose offsets count."""
    found = _fetched_transactions(history)
    if not found:
        return None
    transaction, _ = random.choice(found)
    gone = {each.value for each in history.writes.values() if each.transaction == transaction.name}
    return [
        replace(each, records=tuple(record for record in each.records if record.value not in gone))
        if isinstance(each, FullRead | Poll) and each.isolation is Isolation.COMMITTED
        else each
        for each in _unanswered(history.operations, transaction)
    ]


MUTATIONS: tuple[tuple[type[Anomaly], Mutation], ...] = (
    (LostWrite, lose),
    (DuplicateWrite, duplicate),
    (TwoValues, exchange_value),
    (ForeignValue, invent),
    (AbortedRead, show_aborted),
    (UncommittedRead, show_early),
    (TornTransaction, tear),
    (TornTransaction, tear_off_offsets),
    (TornTransaction, tear_off_records),
    (StuckPartition, hold_back),
    (SkippedRecords, skip),
    (ReorderedRecords, reorder),
    (OffsetWentBack, forget_offsets),
    (UncommittedOffset, show_aborted_offset),
)
