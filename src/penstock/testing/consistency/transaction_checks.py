"""Checks of transactions: all of one or nothing, and not before it is committed."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.consistency.anomalies import AbortedRead, StuckPartition, TornTransaction, UncommittedRead
from penstock.testing.consistency.history import (
    End,
    History,
    Isolation,
    Outcome,
    Partition,
    Transaction,
    Write,
)
from penstock.testing.consistency.write_checks import place

MS = 1_000_000


def aborted_reads(history: History) -> Iterator[AbortedRead]:
    """A value of a transaction that cannot commit, read as committed; or of a write that failed, read at all."""
    reported: set[str] = set()
    for read in history.reads:
        for record in read.records:
            write = history.writes.get(record.value)
            if write is None or record.value in reported:
                continue
            why = _why_not(write, history.transaction_of(write), read.isolation)
            if why:
                reported.add(record.value)
                yield AbortedRead(
                    evidence=f"{read.client} ({read.isolation}) saw {record.value!r} at {place(record)}; {why}",
                    transaction=write.transaction,
                )


def _why_not(write: Write, transaction: Transaction | None, isolation: Isolation) -> str:
    if transaction is None:
        return "its write failed" if write.outcome is Outcome.FAIL else ""
    if isolation is Isolation.UNCOMMITTED or transaction.can_commit:
        return ""
    if transaction.end is End.COMMIT:
        return f"the commit of {transaction.name} failed"
    told = "was aborted" if transaction.end is End.ABORT else "was never asked to commit"
    return f"{transaction.name} {told}"


def uncommitted_reads(history: History) -> Iterator[UncommittedRead]:
    """Read as committed by a call that returned before the commit was asked for."""
    reported: set[str] = set()
    for read in history.reads:
        if read.isolation is Isolation.UNCOMMITTED:
            continue
        for record in read.records:
            write = history.writes.get(record.value)
            transaction = None if write is None else history.transaction_of(write)
            if transaction is None or not transaction.can_commit or record.value in reported:
                continue
            if read.ended < transaction.end_started:
                reported.add(record.value)
                early = (transaction.end_started - read.ended) / MS
                yield UncommittedRead(
                    evidence=f"{read.client} saw {record.value!r} at {place(record)} {early:.3f} ms before"
                    f" {transaction.client} asked to commit {transaction.name}",
                    transaction=transaction.name,
                )


def torn_transactions(history: History) -> Iterator[TornTransaction]:
    """Of a transaction that may have committed, some acknowledged values are there at the end and some are not."""
    shown: set[str] = set()
    read_to_the_end: set[Partition] = set()
    for read in history.full_reads:
        if read.isolation is Isolation.COMMITTED:
            shown.update(record.value for record in read.records)
            if read.reached >= read.log_end:
                read_to_the_end.add(read.partition)
    for name, writes in history.writes_by_transaction().items():
        if not history.transactions[name].can_commit:
            continue  # whatever is visible of it is an aborted read
        owed = [each for each in writes if each.outcome is Outcome.OK and each.partition in read_to_the_end]
        there = [each for each in writes if each.value in shown]
        missing = [each for each in owed if each.value not in shown]
        if there and missing:
            yield TornTransaction(
                evidence=f"of {name} (generation {history.transactions[name].generation},"
                f" commit {history.transactions[name].outcome}) {_list(there)} can be read, {_list(missing)} can not",
                transaction=name,
            )


def _list(writes: list[Write]) -> str:
    named = ", ".join(f"{each.value!r} in {each.partition}" for each in writes[:3])
    return named if len(writes) <= 3 else f"{named} and {len(writes) - 3} more"


def stuck_partitions(history: History) -> Iterator[StuckPartition]:
    """A full read that could not come to the end of the log."""
    for read in history.full_reads:
        if read.reached < read.log_end:
            yield StuckPartition(
                evidence=f"{read.client} ({read.isolation}) comes to {read.partition}@{read.reached}"
                f" and the log ends at {read.log_end}"
            )
