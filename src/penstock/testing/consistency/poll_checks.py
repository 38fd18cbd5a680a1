"""Checks of consumers: each sees all that is visible, in the order of offsets, from where it was put on.

The evidence distinguishes "within a poll" and "between polls". An `Assignment` (a rebalance, a seek, a new
consumer) resets the positions; the first record after one with an unknown position is not judged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.consistency.anomalies import ReorderedRecords, SkippedRecords
from penstock.testing.consistency.history import (
    NOWHERE,
    Assignment,
    History,
    Isolation,
    Outcome,
    Partition,
    Poll,
    Seen,
)


class Step(NamedTuple):
    """A consumer's step to a record, when it could have got whatever is at `expected` or above."""

    poll: Poll
    expected: int
    record: Seen
    within_poll: bool

    @property
    def when(self) -> str:
        return "within a poll" if self.within_poll else "between polls"


def steps(history: History) -> Iterator[Step]:
    for course in history.courses.values():
        expected: dict[Partition, int] = {}
        for operation in course:
            if isinstance(operation, Assignment):
                expected = {
                    Partition(topic, partition_index): offset for topic, partition_index, offset in operation.positions
                }
                continue
            met: set[Partition] = set()
            for record in operation.records:
                partition = record.partition
                position = expected.get(partition, NOWHERE)
                if position != NOWHERE:
                    yield Step(operation, position, record, partition in met)
                met.add(partition)
                expected[partition] = record.offset + 1


def reordered_records(history: History) -> Iterator[ReorderedRecords]:
    for step in steps(history):
        if step.record.offset < step.expected:
            yield ReorderedRecords(
                evidence=f"{step.poll.client}, {step.when}: {step.record.value!r} at"
                f" {step.record.partition}@{step.record.offset} came when {step.expected} was next"
            )


def skipped_records(history: History) -> Iterator[SkippedRecords]:
    visible = {isolation: _visible(history, isolation) for isolation in Isolation}
    for step in steps(history):
        offsets = visible[step.poll.isolation].get(step.record.partition, [])
        missed = offsets[bisect_left(offsets, step.expected) : bisect_right(offsets, step.record.offset - 1)]
        if missed:
            yield SkippedRecords(
                evidence=f"{step.poll.client} ({step.poll.isolation}), {step.when}: from {step.expected} to"
                f" {step.record.offset} in {step.record.partition}, past {len(missed)} records"
                f" (offsets {', '.join(map(str, missed[:5]))}{' …' if len(missed) > 5 else ''})"
            )


def _visible(history: History, isolation: Isolation) -> dict[Partition, list[int]]:
    """Offsets that every reader of this isolation must see: what full reads show, and what was acknowledged."""
    found: dict[Partition, set[int]] = {}
    for read in history.full_reads:
        if isolation is Isolation.UNCOMMITTED or read.isolation is Isolation.COMMITTED:
            found.setdefault(read.partition, set()).update(record.offset for record in read.records)
    for write in history.writes.values():
        transaction = history.transaction_of(write)
        shown = transaction is None or transaction.committed or isolation is Isolation.UNCOMMITTED
        if write.outcome is Outcome.OK and write.offset != NOWHERE and shown:
            found.setdefault(write.partition, set()).add(write.offset)
    return {partition: sorted(offsets) for partition, offsets in found.items()}
