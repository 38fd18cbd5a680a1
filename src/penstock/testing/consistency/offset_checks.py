"""Checks of committed offsets.

A fetch is right if some commit explains it whose moment can have been before the fetch ended, and no other commit
certainly came in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.testing.consistency.anomalies import OffsetWentBack, UncommittedOffset
from penstock.testing.consistency.history import NOWHERE, History, OffsetCommit, OffsetFetch
from penstock.testing.consistency.offset_effects import OffsetEffects, register_of


def uncommitted_offsets(history: History) -> Iterator[UncommittedOffset]:
    effects = OffsetEffects(history)
    tried = {(register_of(commit), commit.offset): commit for commit in history.commits}
    for fetch in history.fetches:
        if fetch.offset == NOWHERE or effects.explaining(fetch):
            continue
        commit = tried.get((register_of(fetch), fetch.offset))
        yield UncommittedOffset(
            evidence=f"{_got(fetch)}; {_origin(history, commit)}",
            transaction=None if commit is None else commit.transaction,
        )


def _got(fetch: OffsetFetch) -> str:
    return f"{fetch.client} got {fetch.offset} for group {fetch.group} in {fetch.topic}-{fetch.partition_index}"


def _origin(history: History, commit: OffsetCommit | None) -> str:
    if commit is None:
        return "no client committed it"
    transaction = history.transaction_of(commit)
    if transaction is None:
        return f"the commit of {commit.client} failed or began later"
    reason = "was asked to commit only later" if transaction.can_commit else "did not commit"
    return f"{transaction.name} of {transaction.client} had it and {reason}"


def offsets_that_went_back(history: History) -> Iterator[OffsetWentBack]:
    """An offset that was never committed has no age: that is the other check."""
    effects = OffsetEffects(history)
    for fetch in history.fetches:
        age = effects.age(fetch)
        replaced = [
            each
            for each in effects.certain(register_of(fetch))
            if each.latest < fetch.started and each.commit.started > age and each.commit.offset != fetch.offset
        ]
        if replaced:
            newest = max(replaced, key=lambda each: each.earliest).commit
            yield OffsetWentBack(
                evidence=f"{_got(fetch)} after {newest.client} had committed {newest.offset}"
                + ("" if newest.transaction is None else f" with {newest.transaction}"),
                transaction=newest.transaction,
            )
