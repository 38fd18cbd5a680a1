"""The check that a transaction happens as a whole or not at all, its records and the offsets committed with it.

That a transaction happened is shown by any of its values that a reader of committed data got, and by a fetch of one of
its offsets. That it did not is shown by an acknowledged value which is not there when everything is read, and by a
fetch that returned an older offset where an acknowledged one of the transaction should be. Offsets that a later commit
replaced show nothing. Where both are shown it is torn, whether or not the client knows of the commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.consistency.anomalies import TornTransaction
from penstock.testing.consistency.history import History, Isolation, OffsetCommit, Outcome, Partition, Write
from penstock.testing.consistency.offset_effects import OffsetEffects, Register, register_of


def torn_transactions(history: History) -> Iterator[TornTransaction]:
    writes, commits = history.writes_by_transaction(), history.commits_by_transaction()
    visible, effects = _Visible.of(history), OffsetEffects(history)
    for name, transaction in history.transactions.items():
        if not transaction.can_commit:
            continue  # whatever is visible of it is an aborted read
        there, missing = visible.sorted(writes.get(name, []))
        taken, lost = _sorted(effects, commits.get(name, []))
        if (there or taken) and (missing or lost):
            yield TornTransaction(
                evidence=f"of {name} (generation {transaction.generation}, commit {transaction.outcome})"
                f" {_list(there + taken)} can be read, {_list(missing + lost)} can not",
                transaction=name,
            )


class _Visible(NamedTuple):
    """The records that readers of committed data got, and those that they would have got at the end."""

    values: set[str]
    at_the_end: set[str]
    read_to_the_end: set[Partition]

    @classmethod
    def of(cls, history: History) -> _Visible:
        found = cls(set(), set(), set())
        for read in history.reads:
            if read.isolation is Isolation.COMMITTED:
                found.values.update(record.value for record in read.records)
        for full in history.full_reads:
            if full.isolation is Isolation.COMMITTED:
                found.at_the_end.update(record.value for record in full.records)
                if full.reached >= full.log_end:
                    found.read_to_the_end.add(full.partition)
        return found

    def sorted(self, writes: list[Write]) -> tuple[list[str], list[str]]:
        """Those that are there, and those that should be and are not."""
        there = [_value(each) for each in writes if each.value in self.values]
        owed = [each for each in writes if each.outcome is Outcome.OK and each.partition in self.read_to_the_end]
        return there, [_value(each) for each in owed if each.value not in self.at_the_end]


def _sorted(effects: OffsetEffects, commits: list[OffsetCommit]) -> tuple[list[str], list[str]]:
    """Offsets that were fetched, and those that should have been. One that came and went is in the first only."""
    taken: dict[Register, str] = {}
    lost: dict[Register, str] = {}
    for commit in commits:
        if effects.proof(commit) is not None:
            taken[register_of(commit)] = _offset(commit)
    for commit in commits:
        register = register_of(commit)
        older = None if register in taken or commit.outcome is not Outcome.OK else effects.disproof(commit)
        if older is not None:
            lost[register] = f"{_offset(commit)} ({older.client} got {older.offset})"
    return list(taken.values()), list(lost.values())


def _value(write: Write) -> str:
    return f"{write.value!r} in {write.partition}"


def _offset(commit: OffsetCommit) -> str:
    return f"offset {commit.offset} of group {commit.group} in {commit.topic}-{commit.partition_index}"


def _list(named: list[str]) -> str:
    shown = ", ".join(named[:3])
    return shown if len(named) <= 3 else f"{shown} and {len(named) - 3} more"
