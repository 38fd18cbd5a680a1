"""A sync threshold that does not depend on the disk, for runs that must be reproducible."""

from __future__ import annotations

from penstock.storage.flush.sync_cost import SyncCost


class FixedThreshold(SyncCost):
    """syncfs above a given number of files, whatever it costs."""

    def __init__(self, file_count_max: int) -> None:
        super().__init__()
        self._file_count_max = file_count_max

    def prefers_all(self, file_count: int) -> bool:
        return file_count > self._file_count_max
