"""Visibility: the end of a partition's stored records, and the end of those that readers may see.

    storage.flush: always          stored = on disk, and that is visible: no reader sees what a crash could take back
    storage.flush: interval, os    stored = written, and that is visible: the user chose not to wait for the disk

`Partition` asks its rule whenever the log has advanced, and nothing else raises a high watermark. With replicas the
high watermark follows another rule, the lowest stored end of the in-sync replicas; `stored` stays as it is.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.config.settings import Flush
from penstock.storage.interface import Log


class Visibility(Protocol):
    """Rule for the ends of stored and of visible records. Both ends only rise while a log lives. Loop thread."""

    def stored(self, log: Log) -> int:
        """End of the records that this node has stored, as durably as `storage.flush` promises."""
        ...

    def high_watermark(self, log: Log, stored: int) -> int:
        """End of the records that readers may see, of a log that has stored its records up to `stored`."""
        ...


class OnDisk:
    """Rule by which records are stored and visible when they are on disk."""

    def stored(self, log: Log) -> int:
        return log.status.flushed

    def high_watermark(self, log: Log, stored: int) -> int:
        return stored


class Written:
    """Rule by which records are stored and visible when they are written, before they are on disk."""

    def stored(self, log: Log) -> int:
        return log.log_end

    def high_watermark(self, log: Log, stored: int) -> int:
        return stored


ON_DISK: Final = OnDisk()
WRITTEN: Final = Written()


def visibility_of(flush: Flush) -> Visibility:
    """The rule of a single node."""
    return ON_DISK if flush is Flush.ALWAYS else WRITTEN
