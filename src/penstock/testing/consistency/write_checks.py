"""Checks of single values: is each where it should be, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.consistency.anomalies import DuplicateWrite, ForeignValue, LostWrite, TwoValues
from penstock.testing.consistency.history import NOWHERE, FullRead, History, Outcome, Partition, Seen, Write


class Sighting(NamedTuple):
    record: Seen
    by: str


def sightings(history: History) -> Iterator[Sighting]:
    """Every place at which a value was seen: acknowledgements first, then what readers got."""
    for write in history.writes.values():
        if write.outcome is Outcome.OK and write.offset != NOWHERE:
            yield Sighting(
                Seen(write.topic, write.partition_index, write.offset, write.value), f"acknowledged to {write.client}"
            )
    for read in history.reads:
        by = f"seen by {read.client} ({read.isolation})"
        for record in read.records:
            yield Sighting(record, by)


def place(record: Seen) -> str:
    return f"{record.partition}@{record.offset}"


def lost_writes(history: History) -> Iterator[LostWrite]:
    """An acknowledged value that had to become visible and that a full read does not show."""
    owed = _owed(history)
    reported: set[str] = set()
    for read in history.full_reads:
        shown = {record.value for record in read.records}
        for write in owed.get(read.partition, ()):
            if write.value in shown or write.value in reported or not _was_passed(write, read):
                continue
            reported.add(write.value)
            transaction = "" if write.transaction is None else f", committed with {write.transaction}"
            yield LostWrite(
                evidence=f"{write.value!r} was acknowledged to {write.client} at {write.partition}@{write.offset}"
                f"{transaction}, and {read.client} ({read.isolation}) read to {read.reached} of {read.log_end}"
                " without it",
                transaction=write.transaction,
            )


def _owed(history: History) -> dict[Partition, list[Write]]:
    owed: dict[Partition, list[Write]] = {}
    for write in history.writes.values():
        transaction = history.transaction_of(write)
        if write.outcome is Outcome.OK and (transaction is None or transaction.committed):
            owed.setdefault(write.partition, []).append(write)
    return owed


def _was_passed(write: Write, read: FullRead) -> bool:
    return read.reached >= read.log_end or NOWHERE < write.offset < read.reached


def duplicates(history: History) -> Iterator[DuplicateWrite]:
    """A value at two places, in the eyes of any reader."""
    first: dict[str, Sighting] = {}
    reported: set[str] = set()
    for sighting in sightings(history):
        record = sighting.record
        known = first.setdefault(record.value, sighting)
        if known.record != record and record.value not in reported:
            reported.add(record.value)
            write = history.writes.get(record.value)
            yield DuplicateWrite(
                evidence=f"{record.value!r} is at {place(known.record)} ({known.by})"
                f" and at {place(record)} ({sighting.by})",
                transaction=None if write is None else write.transaction,
            )


def two_values(history: History) -> Iterator[TwoValues]:
    """A place that held one value for one observer and another for the next."""
    first: dict[tuple[Partition, int], Sighting] = {}
    reported: set[tuple[Partition, int]] = set()
    for sighting in sightings(history):
        record = sighting.record
        where = (record.partition, record.offset)
        known = first.setdefault(where, sighting)
        if known.record.value != record.value and where not in reported:
            reported.add(where)
            yield TwoValues(
                evidence=f"{place(record)} is {known.record.value!r} ({known.by}) and {record.value!r} ({sighting.by})",
            )


def foreign_values(history: History) -> Iterator[ForeignValue]:
    """A value that no write explains."""
    reported: set[str] = set()
    for record, by in sightings(history):
        write = history.writes.get(record.value)
        if (write is not None and write.partition == record.partition) or record.value in reported:
            continue
        reported.add(record.value)
        reason = "no client wrote it" if write is None else f"it was written to {write.partition}"
        yield ForeignValue(evidence=f"{record.value!r} is at {place(record)} ({by}), and {reason}")
