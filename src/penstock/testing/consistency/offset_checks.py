"""Checks of committed offsets: each group and partition is a register that commits write and fetches read.

A commit takes effect at one moment between its start and its answer, or at any later one if there was no answer; a
commit within a transaction, between the start and the answer of the transaction's end. A fetch is right if some commit
explains it whose moment can have been before the fetch ended, and no other commit certainly came in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.consistency.anomalies import OffsetWentBack, UncommittedOffset
from penstock.testing.consistency.history import NEVER, NOWHERE, History, OffsetCommit, OffsetFetch, Outcome

Register = tuple[str, str, int]


class Effect(NamedTuple):
    """When a commit took effect, at the earliest and at the latest; `NEVER`: perhaps never."""

    commit: OffsetCommit
    earliest: int
    latest: int


def _register(operation: OffsetCommit | OffsetFetch) -> Register:
    return operation.group, operation.topic, operation.partition_index


def _effects(history: History) -> dict[Register, list[Effect]]:
    found: dict[Register, list[Effect]] = {}
    for commit in history.commits:
        transaction = history.transaction_of(commit)
        if commit.outcome is Outcome.FAIL or not (transaction is None or transaction.can_commit):
            continue
        decided = commit if transaction is None else transaction
        certain = commit.outcome is Outcome.OK and decided.outcome is Outcome.OK
        earliest = commit.started if transaction is None else transaction.end_started
        found.setdefault(_register(commit), []).append(Effect(commit, earliest, decided.ended if certain else NEVER))
    return found


def uncommitted_offsets(history: History) -> Iterator[UncommittedOffset]:
    effects = _effects(history)
    tried = {(_register(commit), commit.offset): commit for commit in history.commits}
    for fetch in history.fetches:
        known = effects.get(_register(fetch), [])
        explained = any(each.commit.offset == fetch.offset and each.earliest <= fetch.ended for each in known)
        if fetch.offset == NOWHERE or explained:
            continue
        commit = tried.get((_register(fetch), fetch.offset))
        yield UncommittedOffset(
            evidence=f"{_got(fetch)}; {_origin(history, commit)}",
            transaction=None if commit is None else commit.transaction,
        )


def _got(fetch: OffsetFetch) -> str:
    return f"{fetch.client} got {fetch.offset} for group {fetch.group} in {fetch.topic}-{fetch.partition_index}"


def _origin(history: History, commit: OffsetCommit | None) -> str:
    if commit is None:
        return "nobody committed it"
    transaction = history.transaction_of(commit)
    if transaction is None:
        return f"the commit of {commit.client} failed or began later"
    told = "was asked to commit only later" if transaction.can_commit else "did not commit"
    return f"{transaction.name} of {transaction.client} had it and {told}"


def offsets_that_went_back(history: History) -> Iterator[OffsetWentBack]:
    effects = _effects(history)
    for fetch in history.fetches:
        known = effects.get(_register(fetch), [])
        explaining = [each for each in known if each.commit.offset == fetch.offset and each.earliest <= fetch.ended]
        if not explaining and fetch.offset != NOWHERE:
            continue  # nobody committed it: that is the other check
        last_chance = max((each.latest for each in explaining), default=-1)
        replaced = [
            each
            for each in known
            if each.latest < fetch.started and each.earliest > last_chance and each.commit.offset != fetch.offset
        ]
        if replaced:
            newest = max(replaced, key=lambda each: each.earliest).commit
            yield OffsetWentBack(
                evidence=f"{_got(fetch)} after {newest.client} had committed {newest.offset}"
                + ("" if newest.transaction is None else f" with {newest.transaction}"),
                transaction=newest.transaction,
            )
