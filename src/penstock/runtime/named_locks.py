"""Locks by name: one change of a named thing at a time."""

from __future__ import annotations

import asyncio

_KEPT = 1000


class NamedLocks:
    """Locks that are made on demand. Unused ones are dropped when there are many."""

    __slots__ = ("_locks", "_most")

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._most = _KEPT

    def of(self, name: str) -> asyncio.Lock:
        if len(self._locks) > self._most:
            self._locks = {key: lock for key, lock in self._locks.items() if lock.locked()}
            self._most = _KEPT + 2 * len(self._locks)
        return self._locks.setdefault(name, asyncio.Lock())
