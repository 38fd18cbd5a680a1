"""The cost of syncs, and the way in which a round is made because of it.

`SyncCost`: fdatasync of each file, or one syncfs for all.

On ext4 and a fast disk, fdatasync of n small dirty files took 0.41 / 0.85 / 1.5 / 2.9 / 5.7 / 21 ms for n = 1
/ 2 / 4 / 8 / 16 / 64, one syncfs 0.49 / 0.50 / 0.50 / 0.62 / 0.93 / 2.1 ms: two files are enough to prefer
syncfs. But syncfs also waits for the writes of other processes on the file system, so the costs are
watched: when a neighbour makes syncfs expensive, a few files are synced one by one until it is cheap again.

`LoopSync`: in the flush thread, or on the event loop itself. Handing a round to the thread and its end back takes
0.1 to 0.2 ms on a small machine, as long as the sync of one file on a fast disk, during which the loop could serve
others: worth it for much data or many requests, not for a few small ones.
"""

from __future__ import annotations

_WEIGHT = 0.2  # of a new measurement in the running mean
# How fast an expensive syncfs is forgotten, so that it is tried again: by half in about 350 rounds.
_FORGIVING = 0.998
_EACH_SECONDS = 0.0004
_ALL_SECONDS = 0.0005
# With more files than this, syncfs is always cheaper.
_FILE_COUNT_MAX = 64


class SyncCost:
    """Running means of both ways. Used by the thread that makes a round, one at a time."""

    def __init__(self) -> None:
        self._each = _EACH_SECONDS
        self._all = _ALL_SECONDS

    def prefers_all(self, file_count: int) -> bool:
        if file_count <= 1:
            return False
        return file_count > _FILE_COUNT_MAX or self._all < file_count * self._each

    def took_all(self, seconds: float) -> None:
        self._all += (seconds - self._all) * _WEIGHT

    def took_each(self, file_count: int, seconds: float) -> None:
        if file_count:
            self._each += (seconds / file_count - self._each) * _WEIGHT
            self._all = max(_ALL_SECONDS, self._all * _FORGIVING)


class LoopSync:
    """Whether the loop may sync by itself. A sync stalls every client, so syncs get at most a small share of the loop's
    time: after one, the thread does the syncs for a hundred times as long as it took.
    """

    SLOW_SECONDS = 0.004
    STALLED_SHARE_MAX = 0.01

    def __init__(self) -> None:
        self._not_before = 0.0

    def allows(self, now: float) -> bool:
        return now >= self._not_before

    def took(self, seconds: float, now: float) -> None:
        if seconds > self.SLOW_SECONDS:
            self._not_before = now + seconds / self.STALLED_SHARE_MAX
