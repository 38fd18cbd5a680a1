"""The anomalies of a history: a type each, with the evidence in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """`transaction` names the one concerned, if one is."""

    title: ClassVar[str]
    evidence: str
    transaction: str | None = None

    def __str__(self) -> str:
        return f"{self.title}: {self.evidence}"


class LostWrite(Anomaly):
    """Acknowledged, committed, and not there when everything is read."""

    title = "lost write"


class DuplicateWrite(Anomaly):
    """One value at two places."""

    title = "duplicate"


class TwoValues(Anomaly):
    """One place with two values."""

    title = "one offset, two values"


class ForeignValue(Anomaly):
    """A value that was never written, or not to this partition."""

    title = "value of nobody"


class AbortedRead(Anomaly):
    """A reader saw what cannot be committed."""

    title = "aborted read"


class UncommittedRead(Anomaly):
    """A reader of committed data saw a value before its transaction was asked to commit."""

    title = "read of uncommitted data"


class TornTransaction(Anomaly):
    """A part of a transaction is visible and another is not."""

    title = "torn transaction"


class StuckPartition(Anomaly):
    """All transactions are ended, and readers of committed data still do not come to the end."""

    title = "stuck partition"


class SkippedRecords(Anomaly):
    """A consumer went past records that it had to see."""

    title = "skipped poll"


class ReorderedRecords(Anomaly):
    """A consumer went back without a seek or a rebalance."""

    title = "reordered poll"


class OffsetWentBack(Anomaly):
    """A group's committed offset is one that a later commit had already replaced."""

    title = "committed offset went back"


class UncommittedOffset(Anomaly):
    """A group's committed offset is one that cannot have been committed by then."""

    title = "offset that is not committed"
