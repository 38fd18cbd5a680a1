"""Connections that a call has left, kept for the next one: to connect takes longer than to ask for a few rows.

Only a process that serves one query after another keeps them, by `keep`. A call that failed leaves nothing behind, and
neither does one whose broker has closed the connection meanwhile. What a call needs to know of topics it asks for anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from penstock.client.cluster import Cluster

IDLE_S_MAX = 60.0
"""Certificates are read again after that, and brokers close connections that are idle for minutes."""
MOST = 16


class _Left(NamedTuple):
    key: Hashable
    at: float
    cluster: Cluster


class IdleClusters:
    """Any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._idle: list[_Left] = []  # in the order in which they were left

    @contextmanager
    def lease(self, key: Hashable, connect: Callable[[], Cluster]) -> Iterator[Cluster]:
        """A cluster for one call; `key` is all that a connection depends on."""
        cluster = self._take(key) or connect()
        try:
            yield cluster
        except BaseException:
            cluster.close()
            raise
        self._put(_Left(key, self._now(), cluster))

    def _take(self, key: Hashable) -> Cluster | None:
        with self._lock:
            self._close_old()
            for left in self._idle[::-1]:
                if left.key == key:
                    self._idle.remove(left)
                    if left.cluster.is_idle():
                        return left.cluster
                    left.cluster.close()
        return None

    def _put(self, left: _Left) -> None:
        with self._lock:
            self._idle.append(left)
            self._close_old()

    def _close_old(self) -> None:
        while self._idle and (len(self._idle) > MOST or self._now() - self._idle[0].at > IDLE_S_MAX):
            self._idle.pop(0).cluster.close()


_kept: IdleClusters | None = None


def keep() -> None:
    """Have this process keep connections between calls."""
    global _kept
    _kept = IdleClusters()


@contextmanager
def leased(key: Hashable, connect: Callable[[], Cluster]) -> Iterator[Cluster]:
    """A cluster for one call, kept after it if this process does so."""
    if _kept is None:
        with connect() as cluster:
            yield cluster
        return
    with _kept.lease(key, connect) as cluster:
        yield cluster
