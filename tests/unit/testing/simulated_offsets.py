"""Committed offsets of a `SimulatedCluster`: right by construction, with the order that Kafka gives them."""

from __future__ import annotations

from typing import NamedTuple

from penstock.testing.consistency.history import NOWHERE


class Arrived(NamedTuple):
    """An offset, and as which one it came."""

    number: int
    offset: int


class SimulatedOffsets:
    """One offset a group. What came last counts, whenever its transaction ended."""

    def __init__(self) -> None:
        self._count = 0
        self._committed: dict[str, Arrived] = {}
        self._pending: dict[str, dict[str, Arrived]] = {}

    def commit(self, group: str, offset: int, transaction: str | None) -> None:
        self._count += 1
        arrived = Arrived(self._count, offset)
        if transaction is None:
            self._committed[group] = arrived
        else:
            self._pending.setdefault(transaction, {})[group] = arrived

    def end(self, transaction: str, *, commits: bool) -> None:
        for group, arrived in self._pending.pop(transaction, {}).items():
            if commits and arrived.number > self._committed.get(group, Arrived(0, NOWHERE)).number:
                self._committed[group] = arrived

    def is_stable(self, group: str) -> bool:
        return not any(group in groups for groups in self._pending.values())

    def fetched(self, group: str) -> int:
        return self._committed.get(group, Arrived(0, NOWHERE)).offset
