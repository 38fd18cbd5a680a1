"""The surroundings of an open log: its identity, and the parts of the engine that all logs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from penstock.model.ids import PartitionId
from penstock.runtime.files import Files
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.flush.flushable import FileCache, FlushQueue, LogJournal
from penstock.storage.observer import EngineObserver


class LogIdentity(NamedTuple):
    """A partition, its topic's name, and where its files are.

    `root` is an ancestor of `directory` that surely exists; the directories between are made with the first file.
    """

    topic: str
    partition: PartitionId
    directory: Path
    root: Path

    @property
    def name(self) -> str:
        """Name of the log in messages."""
        return f"{self.topic}-{self.partition.partition}"

    def path_directories(self) -> list[Path]:
        """The log's directory and those above it, up to and with the root.

        All of them, even those another log made: that log's flush, which would have synced them, may have failed.
        """
        directories = [self.directory]
        while directories[-1] != self.root:  # without `parts`, which each path would keep in memory
            directories.append(directories[-1].parent)
        return directories


class DamageFound(NamedTuple):
    """Bytes at `position` of a segment are not what was written; the log is readable up to `readable_end`."""

    position: int
    reason: str
    readable_end: int


OnDamage = Callable[[LogIdentity, DamageFound], None]
"""Called in any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContext:
    """The parts of an engine that its logs use. One object for all of them."""

    files: Files
    cache: FileCache
    commit: FlushQueue
    gate: WriteGate
    journal: LogJournal
    observer: EngineObserver
    verify_on_read: str
    on_damage: OnDamage
