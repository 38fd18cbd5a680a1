"""Transactions in a log against a model that knows only what was written: any order of batches, markers, flushes,
recovery points, deletions and restarts with lost files shows committed readers the same.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.config.settings import StorageSettings
from penstock.storage.interface import Log, LogConfig
from penstock.storage.log.log import DiskLog
from penstock.storage.log.retention import run_retention
from penstock.storage.memory.engine import MemoryEngine
from tests.support.committed_reader import NOW, end_transaction, put_in_transaction, read_committed
from tests.unit.storage.log_rig import PARTITION, Rig, put

CONFIG = LogConfig(segment_bytes=900, index_interval_bytes=200, retention_ms=-1)
PRODUCERS = st.integers(1, 4)


class Written(NamedTuple):
    """A batch: data of a transaction, plain data (producer 0), or a marker (`is_commit` is not None)."""

    offset: int
    producer_id: int
    values: tuple[bytes, ...] = ()
    is_commit: bool | None = None


class TransactionMachine(RuleBasedStateMachine):
    log: Log

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Written] = []
        self.epochs = dict.fromkeys(range(1, 5), 0)
        self.sequences = dict.fromkeys(range(1, 5), 0)

    def flush(self) -> None:
        raise NotImplementedError

    def run_retention(self) -> None:
        raise NotImplementedError

    # --- what happens ----------------------------------------------------------------------------------------------

    @rule(producer_id=PRODUCERS, sizes=st.lists(st.integers(0, 120), min_size=1, max_size=3))
    def append(self, producer_id: int, sizes: list[int]) -> None:
        values = tuple(b"%d:" % len(self.written) + b"x" * size for size in sizes)
        epoch, sequence = self.epochs[producer_id], self.sequences[producer_id]
        appended = put_in_transaction(self.log, producer_id, sequence, *values, epoch=epoch)
        self.sequences[producer_id] += len(values)
        self.written.append(Written(appended.base_offset, producer_id, values))

    @rule(size=st.integers(0, 300))
    def append_plain(self, size: int) -> None:
        values = (b"%d:" % len(self.written) + b"y" * size,)
        self.written.append(Written(put(self.log, *values).base_offset, 0, values))

    @rule(producer_id=PRODUCERS, is_commit=st.booleans(), bump=st.booleans())
    def end(self, producer_id: int, is_commit: bool, bump: bool) -> None:
        if bump:
            self.epochs[producer_id] += 1
            self.sequences[producer_id] = 0
        appended = end_transaction(self.log, producer_id, commit=is_commit, epoch=self.epochs[producer_id])
        self.written.append(Written(appended.base_offset, producer_id, (), is_commit))

    @rule()
    def flush_all(self) -> None:
        self.flush()
        assert self.log.flushed == self.log.log_end

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        self.log.delete_records(self.log.log_start + int(part * (self.log.flushed - self.log.log_start)))
        self.run_retention()

    # --- what must be so -------------------------------------------------------------------------------------------

    def open_starts(self, end: int) -> dict[int, int]:
        """First offsets of the transactions that no marker below `end` has ended."""
        starts: dict[int, int] = {}
        for one in self.written:
            if one.is_commit is not None:
                if one.offset < end:
                    starts.pop(one.producer_id, None)
            elif one.producer_id:
                starts.setdefault(one.producer_id, one.offset)
        return starts

    def undecided_start(self) -> int:
        """Of all that began; a transaction after an unflushed marker begins above it."""
        starts: list[int] = []
        current: dict[int, int] = {}
        for one in self.written:
            if one.is_commit is None and one.producer_id:
                current.setdefault(one.producer_id, one.offset)
            elif one.is_commit is not None:
                start = current.pop(one.producer_id, None)
                if start is not None and one.offset >= self.log.flushed:
                    starts.append(start)
        return min([*starts, *current.values(), self.log.flushed])

    def committed(self) -> list[tuple[int, bytes]]:
        """Below the last stable offset every transaction has ended: the next marker says how."""
        shown: list[tuple[int, bytes]] = []
        fates: dict[int, bool] = {}
        for one in reversed(self.written):
            if one.is_commit is not None:
                fates[one.producer_id] = one.is_commit
            elif one.producer_id == 0 or fates.get(one.producer_id, False):
                shown += reversed([(one.offset + index, value) for index, value in enumerate(one.values)])
        return [row for row in reversed(shown) if self.log.log_start <= row[0] < self.log.stable_end(self.log.flushed)]

    @invariant()
    def the_last_stable_offset_is_right(self) -> None:
        assert self.log.log_start <= self.log.stable_end(self.log.flushed) <= self.log.flushed <= self.log.log_end
        assert self.log.stable_end(self.log.flushed) == max(self.undecided_start(), self.log.log_start)

    @invariant()
    def open_transactions_are_right(self) -> None:
        open_now = {one.producer_id: one.first_offset for one in self.log.open_transactions()}
        assert open_now == self.open_starts(self.log.log_end)
        assert list(open_now.values()) == sorted(open_now.values())

    @rule(max_bytes=st.integers(1, 2000))
    def read(self, max_bytes: int) -> None:
        shown = [(record.offset, record.value) for record in read_committed(self.log, max_bytes=max_bytes)]
        assert shown == self.committed()


class DiskMachine(TransactionMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="penstock-transactions-"))
        self.rig: Rig | None = None

    @initialize()
    def begin(self) -> None:
        self.rig = Rig(self.root, CONFIG)
        self.log = self.rig.log

    def flush(self) -> None:
        assert self.rig is not None
        self.rig.flush()

    def run_retention(self) -> None:
        assert isinstance(self.log, DiskLog)
        run_retention(self.log, NOW)

    @rule()
    def checkpoint(self) -> None:
        assert self.rig is not None
        self.rig.checkpoint()

    @rule(
        clean=st.booleans(),
        lose=st.sets(st.sampled_from([".txnindex", ".index", ".snapshot"])),
        spoil=st.sampled_from([None, "newest snapshot", "txnindex"]),
    )
    def restart(self, clean: bool, lose: set[str], spoil: str | None) -> None:
        """The page cache outlives the process: everything written is there again, flushed or not."""
        assert self.rig is not None
        # Snapshots are the only memory of what retention has removed.
        assume(".snapshot" not in lose or self.rig.journal.log_start == 0)
        assume(spoil != "newest snapshot" or self.rig.journal.log_start == 0)
        self.rig.close() if clean else self.rig.kill()
        for suffix in lose:
            for name in self.rig.names(suffix):
                (self.rig.directory / name).unlink()
        spoiled = self.rig.names(".snapshot")[-1:] if spoil == "newest snapshot" else []
        for name in spoiled or (self.rig.names(".txnindex") if spoil == "txnindex" else []):
            path = self.rig.directory / name
            path.write_bytes(path.read_bytes()[:-10] + bytes(10))
        self.log = self.rig.open()
        assert self.log.flushed == self.log.log_end
        self.read(700)

    def teardown(self) -> None:
        if self.rig is not None:
            self.rig.cache.close()
        shutil.rmtree(self.root)


class MemoryMachine(TransactionMachine):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Any] = []
        self.engine = MemoryEngine(StorageSettings())
        self.engine.start(lambda log: None, lambda call, *args: self.waiting.append(call), background=False)
        self.engine.declare("t", PARTITION, CONFIG, 0)
        self.log = self.engine.log(PARTITION)

    def flush(self) -> None:
        while self.waiting:
            self.waiting.pop()()

    def run_retention(self) -> None:
        self.engine.run_retention(NOW)


SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
TestDiskTransactions = pytest.mark.feature("K-07", "P-05")(DiskMachine.TestCase)
TestDiskTransactions.settings = SETTINGS
TestMemoryTransactions = pytest.mark.feature("K-07", "K-12")(MemoryMachine.TestCase)
TestMemoryTransactions.settings = SETTINGS
