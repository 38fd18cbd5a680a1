"""Checks of what readers see of transactions: nothing of one that is not committed, and everything in the end."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.consistency.anomalies import AbortedRead, StuckPartition, UncommittedRead
from penstock.testing.consistency.history import (
    End,
    History,
    Isolation,
    Outcome,
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
    reason = "was aborted" if transaction.end is End.ABORT else "was never asked to commit"
    return f"{transaction.name} {reason}"


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


def stuck_partitions(history: History) -> Iterator[StuckPartition]:
    """A full read that could not come to the end of the log."""
    for read in history.full_reads:
        if read.reached < read.log_end:
            yield StuckPartition(
                evidence=f"{read.client} ({read.isolation}) comes to {read.partition}@{read.reached}"
                f" and the log ends at {read.log_end}"
            )
