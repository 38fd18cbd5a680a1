"""All checks over one history, and the verdict.

The first protocol generation has a hole of its own: its EndTxn names a producer and an epoch, not a transaction, so
one that is delayed (the client gave up waiting and went on) ends whatever transaction of that producer is open when it
arrives. No broker can tell. What this explains is counted apart, and it explains little: only an anomaly of a V1
transaction, of a kind that an end of that sort leads to, and only in the transaction right after one whose end was
unanswered or so slow that the client may have sent it again, or in one that was open while it was asked for. A producer
that took over the transactional id again has another epoch, and late ends of the one before are fenced. Everything else
is an anomaly, V1 or V2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from penstock.testing.consistency.anomalies import (
    AbortedRead,
    Anomaly,
    LostWrite,
    OffsetWentBack,
    TornTransaction,
    UncommittedOffset,
    UncommittedRead,
)
from penstock.testing.consistency.history import NEVER, End, Generation, History, Outcome, Transaction
from penstock.testing.consistency.offset_checks import offsets_that_went_back, uncommitted_offsets
from penstock.testing.consistency.poll_checks import reordered_records, skipped_records
from penstock.testing.consistency.torn_checks import torn_transactions
from penstock.testing.consistency.transaction_checks import aborted_reads, stuck_partitions, uncommitted_reads
from penstock.testing.consistency.write_checks import duplicates, foreign_values, lost_writes, two_values

CHECKS: Final[tuple[Callable[[History], Iterable[Anomaly]], ...]] = (
    lost_writes,
    duplicates,
    two_values,
    foreign_values,
    aborted_reads,
    uncommitted_reads,
    torn_transactions,
    stuck_partitions,
    skipped_records,
    reordered_records,
    uncommitted_offsets,
    offsets_that_went_back,
)
OF_A_LATE_END: Final[dict[End, tuple[type[Anomaly], ...]]] = {
    End.COMMIT: (AbortedRead, UncommittedRead, TornTransaction, UncommittedOffset),
    End.ABORT: (LostWrite, TornTransaction, OffsetWentBack),
}
"""The effect of a late commit or a late abort on the next transaction."""
REPEATED_AFTER_NS: Final = 1_000_000_000
"""An end that took this long may have been sent more than once."""


@dataclass(frozen=True, slots=True)
class Verdict:
    anomalies: list[Anomaly] = field(default_factory=list)
    known_hole: list[Anomaly] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        return dict(Counter(each.title for each in self.anomalies))


def judge(history: History) -> Verdict:
    verdict = Verdict()
    for check in CHECKS:
        for anomaly in check(history):
            (verdict.known_hole if _is_known_hole(history, anomaly) else verdict.anomalies).append(anomaly)
    return verdict


def _is_known_hole(history: History, anomaly: Anomaly) -> bool:
    if anomaly.transaction is None:
        return False
    concerned = history.transactions[anomaly.transaction]
    if concerned.generation is not Generation.V1:
        return False
    return any(
        earlier.end is not None and isinstance(anomaly, OF_A_LATE_END[earlier.end])
        for earlier in _whose_end_may_hit(history, concerned)
    )


def _whose_end_may_hit(history: History, concerned: Transaction) -> Iterator[Transaction]:
    """The one right before and those that overlap, where their ends may have been sent more than once."""
    before = [
        each
        for each in history.transactions.values()
        if _producer(each) == _producer(concerned) and each.end_started < concerned.started
    ]
    last = max(before, key=lambda each: each.started, default=None)
    for each in before:
        is_answered_later = each.ended != NEVER and each.ended > concerned.started
        if (each is last or is_answered_later) and _may_be_late(each):
            yield each


def _may_be_late(transaction: Transaction) -> bool:
    is_slow = transaction.ended - transaction.end_started >= REPEATED_AFTER_NS
    return transaction.outcome is Outcome.UNKNOWN or is_slow


def _producer(transaction: Transaction) -> tuple[str, str, int]:
    return transaction.transactional_id, transaction.client, transaction.producer
