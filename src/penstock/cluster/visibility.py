"""Visibility: how far a partition's log counts as stored, and how far readers may see it.

    storage.flush: always          stored = on disk, and that is visible: no reader sees what a crash could take back
    storage.flush: interval, os    stored = written, and that is visible: the user chose not to wait for the disk

`Partition` asks its rule whenever the log has advanced, and nobody else raises a high watermark. With replicas the high
watermark becomes another rule, the least of what the in-sync replicas have stored; what is stored here stays as it is.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.config.settings import Flush
from penstock.storage.interface import Log


class Visibility(Protocol):
    """Both ends only rise while a log lives. Loop thread."""

    def stored(self, log: Log) -> int:
        """End of what this node has stored, as durably as `storage.flush` promises."""
        ...

    def high_watermark(self, log: Log) -> int:
        """End of what readers may see."""
        ...


class OnDisk:
    """What is on disk is stored and visible."""

    def stored(self, log: Log) -> int:
        return log.flushed

    def high_watermark(self, log: Log) -> int:
        return log.flushed


class Written:
    """What is written is stored and visible, before it is on disk."""

    def stored(self, log: Log) -> int:
        return log.log_end

    def high_watermark(self, log: Log) -> int:
        return log.log_end


ON_DISK: Final = OnDisk()
WRITTEN: Final = Written()


def visibility_of(flush: Flush) -> Visibility:
    """The rule of a single node."""
    return ON_DISK if flush is Flush.ALWAYS else WRITTEN
