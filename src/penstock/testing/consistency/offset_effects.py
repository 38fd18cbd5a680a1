"""The effect of commits on offsets: each group and partition is a register that commits write and fetches read.

A commit takes effect at one moment between its start and its answer, or at any later one if there was no answer; a
commit within a transaction, between the start and the answer of the transaction's end. Two things tell more about a
transaction whose end was not answered:

- Fetches are of stable offsets: the broker holds them back while an offset in an open transaction waits for its end.
  So when a fetch returns that began after an offset was acknowledged, that offset has taken effect or never will.
- A fetch that returns an offset which no other commit explains shows that the transaction has committed.

Of two commits in one register the one counts that came to the broker later, even if it belongs to a transaction that
ended earlier. So a commit has certainly replaced another only if it began when the other had taken effect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from penstock.testing.consistency.history import NEVER, NOWHERE, History, OffsetCommit, OffsetFetch, Outcome

Register = tuple[str, str, int]


def register_of(operation: OffsetCommit | OffsetFetch) -> Register:
    return operation.group, operation.topic, operation.partition_index


class Effect(NamedTuple):
    """When a commit took effect, at the earliest and at the latest; if it did, where that is not certain."""

    commit: OffsetCommit
    earliest: int
    latest: int
    is_certain: bool


class OffsetEffects:
    """All of a history. Commits that cannot count are not among them."""

    def __init__(self, history: History) -> None:
        self._fetches: dict[Register, list[OffsetFetch]] = {}
        for fetch in sorted(history.fetches, key=lambda each: each.started):
            self._fetches.setdefault(register_of(fetch), []).append(fetch)
        self._effects: dict[Register, dict[int, list[Effect]]] = {}
        for effect in self._possible(history):
            found = self._effects.setdefault(register_of(effect.commit), {})
            found.setdefault(effect.commit.offset, []).append(effect)
        for fetch in history.fetches:
            self._take_as_proof(fetch)
        self._ages = {register: [self.age(each) for each in fetches] for register, fetches in self._fetches.items()}

    def _possible(self, history: History) -> Iterator[Effect]:
        for commit in history.commits:
            transaction = history.transaction_of(commit)
            if commit.outcome is Outcome.FAIL or not (transaction is None or transaction.can_commit):
                continue
            decided = commit if transaction is None else transaction
            is_certain = commit.outcome is Outcome.OK and decided.outcome is Outcome.OK
            earliest = commit.started if transaction is None else transaction.end_started
            latest = min(decided.ended if is_certain else NEVER, self._settled(commit))
            yield Effect(commit, earliest, latest, is_certain)

    def _settled(self, commit: OffsetCommit) -> int:
        """When it was certainly decided whether the commit counts."""
        fetches = self._fetches.get(register_of(commit), [])
        place = self._first_after(commit)
        return fetches[place].ended if commit.outcome is Outcome.OK and place < len(fetches) else NEVER

    def _first_after(self, commit: OffsetCommit) -> int:
        """The place of the first fetch of the same register that began when the commit was acknowledged."""
        return bisect_right(self._fetches.get(register_of(commit), []), commit.ended, key=lambda each: each.started)

    def _take_as_proof(self, fetch: OffsetFetch) -> None:
        """Conclude that a commit has taken effect if it alone explains the fetch."""
        explaining = self.explaining(fetch)
        if len(explaining) == 1:
            (effect,) = explaining
            same = self._effects[register_of(fetch)][fetch.offset]
            proven = effect._replace(latest=min(effect.latest, fetch.ended), is_certain=True)
            same[same.index(effect)] = proven

    def explaining(self, fetch: OffsetFetch) -> list[Effect]:
        """The commits that can have made this fetch return its offset."""
        same = self._effects.get(register_of(fetch), {}).get(fetch.offset, [])
        return [each for each in same if each.earliest <= fetch.ended]

    def age(self, fetch: OffsetFetch) -> int:
        """The last moment at which the offset can have been committed; `NEVER` if that is unknown or impossible."""
        if fetch.offset == NOWHERE:
            return -1
        return max((each.latest for each in self.explaining(fetch)), default=NEVER)

    def certain(self, register: Register) -> list[Effect]:
        return [each for same in self._effects.get(register, {}).values() for each in same if each.is_certain]

    def proof(self, commit: OffsetCommit) -> OffsetFetch | None:
        """A fetch that returned the commit's offset, which no commit outside of its transaction explains."""
        same = [each for each in self._fetches.get(register_of(commit), []) if each.offset == commit.offset]
        for fetch in same:
            if {each.commit.transaction for each in self.explaining(fetch)} == {commit.transaction}:
                return fetch
        return None

    def disproof(self, commit: OffsetCommit) -> OffsetFetch | None:
        """A fetch after the commit was acknowledged that returned what the commit would have replaced."""
        register, place = register_of(commit), self._first_after(commit)
        fetches, ages = self._fetches.get(register, []), self._ages.get(register, [])
        for number in range(place, len(fetches)):
            if ages[number] < commit.started:
                return fetches[number]
        return None
