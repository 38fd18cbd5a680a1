"""A log on a real directory, with flushes that happen when a test says so."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.model.batch import check_batch, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import PartitionId
from penstock.model.record import Record
from penstock.model.records import iter_records
from penstock.runtime.files import RealFiles
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.flush.file_cache import LruFileCache
from penstock.storage.flush.group_commit import GroupCommit
from penstock.storage.interface import Appended, Log, LogConfig
from penstock.storage.log.context import DamageFound, LogContext, LogIdentity
from penstock.storage.log.log import DiskLog
from penstock.storage.observer import SilentObserver
from penstock.storage.recovery.recovery import recover

NOW = 1_700_000_000_000
PARTITION = PartitionId(uuid.UUID(int=7), 0)


class Journal:
    """The metadata of a log, in memory."""

    def __init__(self) -> None:
        self.log_start = 0
        self.epochs: list[tuple[int, int]] = []

    def set_log_start(self, partition: PartitionId, offset: int) -> None:
        self.log_start = offset

    def replace_epochs(self, partition: PartitionId, epochs: Sequence[tuple[int, int]]) -> None:
        self.epochs = list(epochs)


class Rig:
    """Opens the same directory again and again, as restarts do."""

    def __init__(self, root: Path, config: LogConfig | None = None, *, verify: str = "first") -> None:
        self.files = RealFiles()
        self.root = root
        self.directory = root / "topics" / "t" / "0"
        self.config = config or LogConfig()
        self.verify = verify
        self.journal = Journal()
        self.gate = WriteGate("the disk is nearly full")
        self.epoch = -1
        self.damage: list[tuple[int, str]] = []
        self.log = self.open()

    def open(self, *, now_ms: int = NOW) -> DiskLog:
        """A process starts. What the one before had in memory is gone, its files are as it left them."""
        self.epoch += 1
        self.commit = GroupCommit(self.files, self.root)
        self.commit.start(lambda log: None, lambda call, *args: call(*args), in_thread=False)
        self.cache = LruFileCache(self.files, 100)
        context = LogContext(
            files=self.files,
            cache=self.cache,
            commit=self.commit,
            gate=self.gate,
            journal=self.journal,
            observer=SilentObserver(),
            verify_on_read=self.verify,
            on_damage=self._on_damage,
        )
        recovered = recover(
            self.files,
            self.directory,
            log_start=self.journal.log_start,
            now_ms=now_ms,
            epochs=self.journal.epochs,
            compacted=self.config.cleanup_compact,
            index_interval_bytes=self.config.index_interval_bytes,
        )
        identity = LogIdentity("t", PARTITION, self.directory, self.directory.parent)
        self.log = DiskLog(context, identity, recovered, config=self.config, leader_epoch=self.epoch)
        return self.log

    def _on_damage(self, log: LogIdentity, found: DamageFound) -> None:
        self.damage.append((found.position, found.reason))

    def flush(self) -> None:
        while self.commit.run_round():
            pass
        self.commit.finish_rounds()

    def checkpoint(self) -> None:
        checkpoint = self.log.checkpoint()
        if checkpoint is not None:
            checkpoint.write()
            self.log.checkpoint_written(checkpoint)

    def close(self) -> None:
        self.flush()
        self.log.close()
        self.kill()

    def kill(self) -> None:
        """The process goes without a word; the page cache stays."""
        self.cache.close()
        self.commit._root.close()

    def reopen(self, *, clean: bool) -> DiskLog:
        if clean:
            self.close()
        else:
            self.kill()
        return self.open()

    def append(self, *values: bytes, **overrides: Any) -> Appended:
        appended = put(self.log, *values, **overrides)
        self.flush()
        return appended

    def segment_file(self, index: int = -1) -> Path:
        return sorted(self.directory.glob("*.log"))[index]

    def names(self, suffix: str) -> list[str]:
        return sorted(path.name for path in self.directory.glob("*" + suffix))


def make_batch(*values: bytes, timestamp: int = NOW, **overrides: Any) -> bytearray:
    return build_batch([NewRecord(None, value) for value in values], timestamp=timestamp, **overrides)


def put(log: Log, *values: bytes, now_ms: int = NOW, timestamp: int = NOW, **overrides: Any) -> Appended:
    batch = make_batch(*values, timestamp=timestamp, **overrides)
    return log.append(batch, check_batch(batch), now_ms)


def put_idempotent(log: Log, sequence: int, *values: bytes, producer_id: int = 9, epoch: int = 0) -> Appended:
    return put(log, *values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def read_all(log: Log, offset: int | None = None, *, max_bytes: int = 1 << 20) -> list[Record]:
    """Every visible record from `offset` (the start) on, fetch by fetch."""
    offset = log.log_start if offset is None else offset
    records: list[Record] = []
    while True:
        found = log.read(offset, max_bytes, end=log.flushed, one_batch_at_least=True, wait=True)
        if not found.records:
            return records
        assert read_header(found.records).base_offset == found.first_offset
        assert found.next_offset > offset
        records += [record for record in iter_records(found.records) if record.offset >= offset]
        offset = found.next_offset


def values_of(log: Log, offset: int | None = None) -> list[bytes | None]:
    return [record.value for record in read_all(log, offset)]
