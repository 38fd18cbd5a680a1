"""The log against a plain list: random appends, reads, rolls, restarts, retention, deletes; on disk and in memory.

The model is a list of (offset, timestamp, value). Whatever the order of events, what the log shows is the part of the
list between its start and its end, and nothing that was acknowledged is ever missing or different.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.config.settings import StorageSettings
from penstock.model.batch import check_batch
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import iter_records
from penstock.storage.interface import LogConfig
from penstock.storage.log.log import DiskLog
from penstock.storage.log.retention import run_retention
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.memory.log import MemoryLog
from tests.unit.storage.log_rig import NOW, PARTITION, Rig

CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=150, segment_ms=5000, timestamp_after_max_ms=1 << 60)
PRODUCER = 5


class LogMachine(RuleBasedStateMachine):
    """The rules that both engines are tested with. Subclasses define how to open, flush and restart."""

    log: DiskLog | MemoryLog

    def __init__(self) -> None:
        super().__init__()
        self.model: list[tuple[int, int, bytes]] = []
        self.now = NOW
        self.sequence = 0
        self.sent: list[tuple[int, list[bytes], int]] = []  # sequence, values, base offset

    @property
    def end(self) -> int:
        return self.model[-1][0] + 1 if self.model else 0

    def flush(self) -> None:
        raise AssertionError

    def run_retention(self) -> None:
        raise AssertionError

    def write(self, values: list[bytes], timestamps: list[int], codec: int, **producer: int) -> None:
        records = [NewRecord(None, v, (), t) for v, t in zip(values, timestamps, strict=True)]
        batch = build_batch(records, timestamp=self.now, codec=codec, **producer)  # type: ignore[arg-type]
        appended = self.log.append(batch, check_batch(batch), self.now)
        assert (appended.base_offset, appended.duplicate) == (self.log_end_before, False)
        for index, (value, timestamp) in enumerate(zip(values, timestamps, strict=True)):
            self.model.append((appended.base_offset + index, timestamp, value))

    @property
    def log_end_before(self) -> int:
        return self.end

    @rule(
        values=st.lists(st.binary(max_size=60), min_size=1, max_size=6),
        codec=st.integers(0, 4),
        jitter=st.lists(st.integers(-3000, 3000), min_size=6, max_size=6),
    )
    def append(self, values: list[bytes], codec: int, jitter: list[int]) -> None:
        self.write(values, [self.now + jitter[index] for index in range(len(values))], codec)

    @rule(count=st.integers(1, 4))
    def append_idempotent(self, count: int) -> None:
        values = [b"%d" % (self.sequence + index) for index in range(count)]
        self.sent.append((self.sequence, values, self.end))
        producer = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": self.sequence}
        self.write(values, [self.now] * count, 0, **producer)
        self.sequence += count

    @precondition(lambda self: bool(self.sent))
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        back = data.draw(st.integers(1, min(len(self.sent), 8)))
        sequence, values, offset = self.sent[-back]
        batch = build_batch(
            [NewRecord(None, value) for value in values],
            timestamp=self.now,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=sequence,
        )
        if back <= 5:
            appended = self.log.append(batch, check_batch(batch), self.now)
            assert (appended.duplicate, appended.base_offset) == (True, offset)
        else:
            with pytest.raises(KafkaError) as raised:
                self.log.append(batch, check_batch(batch), self.now)
            assert raised.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    @rule(milliseconds=st.integers(1, 8000))
    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds

    @rule()
    def flush_now(self) -> None:
        self.flush()
        assert self.log.flushed == self.log.log_end

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        before = self.log.log_start + int(part * (self.log.flushed - self.log.log_start))
        self.log.delete_records(before)
        assert self.log.log_start == before

    @rule(retention_ms=st.integers(0, 20_000), retention_bytes=st.integers(-1, 6000))
    def retain(self, retention_ms: int, retention_bytes: int) -> None:
        self.log.set_config(replace(CONFIG, retention_ms=retention_ms, retention_bytes=retention_bytes))
        start = self.log.log_start
        self.run_retention()
        assert start <= self.log.log_start <= self.log.flushed
        for offset, timestamp, _ in self.model:
            if start <= offset < self.log.log_start and retention_bytes < 0:
                assert timestamp < self.now - retention_ms

    @rule(part=st.floats(0, 1), max_bytes=st.integers(1, 3000), at_least_one=st.booleans(), wait=st.booleans())
    def read(self, part: float, max_bytes: int, at_least_one: bool, wait: bool) -> None:
        log = self.log
        offset = log.log_start + int(part * (log.flushed - log.log_start))
        try:
            found = log.read(offset, max_bytes, end=log.flushed, one_batch_at_least=at_least_one, wait=wait)
        except BlockingIOError:
            assert not wait
            return
        records = list(iter_records(found.records))
        if not records:
            assert offset == log.flushed or not at_least_one
            return
        assert at_least_one or len(found.records) <= max_bytes
        assert records[0].offset == found.first_offset <= offset <= records[-1].offset
        assert found.next_offset == records[-1].offset + 1 <= log.flushed
        shown = [(record.offset, record.timestamp, record.value) for record in records]
        assert shown == [one for one in self.model if found.first_offset <= one[0] < found.next_offset]

    @rule(timestamp=st.integers(-5000, 20_000))
    def find_time(self, timestamp: int) -> None:
        target = NOW + timestamp
        found = self.log.find_timestamp(target, end=self.log.flushed)
        expected = next((one for one in self.visible() if one[1] >= target), None)
        assert (found and (found.offset, found.timestamp_ms)) == (expected and expected[:2])
        latest = self.log.find_max_timestamp(end=self.log.flushed)
        best = max(self.visible(), key=lambda one: (one[1], -one[0]), default=None)
        assert (latest and (latest.offset, latest.timestamp_ms)) == (best and best[:2])

    def visible(self) -> list[tuple[int, int, bytes]]:
        return [one for one in self.model if self.log.log_start <= one[0] < self.log.flushed]

    @invariant()
    def the_ends_are_in_order(self) -> None:
        assert 0 <= self.log.log_start <= self.log.flushed <= self.log.log_end == self.end

    def everything(self) -> list[tuple[int, int, bytes | None]]:
        shown: list[tuple[int, int, bytes | None]] = []
        offset = self.log.log_start
        while offset < self.log.flushed:
            found = self.log.read(offset, 700, end=self.log.flushed, one_batch_at_least=True, wait=True)
            records = [record for record in iter_records(found.records) if record.offset >= offset]
            shown += [(record.offset, record.timestamp, record.value) for record in records]
            offset = found.next_offset
        return shown

    @rule()
    def read_everything(self) -> None:
        assert self.everything() == self.visible()


class DiskMachine(LogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="penstock-log-"))
        self.rig: Rig | None = None

    @initialize(verify=st.sampled_from(["first", "always", "off"]))
    def begin(self, verify: str) -> None:
        self.rig = Rig(self.root, CONFIG, verify=verify)
        self.log = self.rig.log

    def flush(self) -> None:
        assert self.rig is not None
        self.rig.flush()

    def run_retention(self) -> None:
        assert isinstance(self.log, DiskLog)
        run_retention(self.log, self.now)

    @rule()
    def checkpoint(self) -> None:
        assert self.rig is not None
        self.rig.checkpoint()

    @rule(
        clean=st.booleans(),
        lose=st.sets(st.sampled_from([".index", ".timeindex", ".snapshot"])),
        tail=st.one_of(st.just(b""), st.binary(max_size=80), st.integers(1, 3000).map(bytes)),
    )
    def restart(self, clean: bool, lose: set[str], tail: bytes) -> None:
        """The page cache outlives the process: everything written is there again, flushed or not."""
        assert self.rig is not None
        # Snapshots are the only memory of producers whose segments retention has removed.
        assume(".snapshot" not in lose or self.rig.journal.log_start == 0)
        self.rig.close() if clean else self.rig.kill()
        for suffix in lose:
            for name in self.rig.names(suffix):
                (self.rig.directory / name).unlink()
        if self.rig.names(".log"):
            with self.rig.segment_file().open("ab") as file:
                file.write(tail)
        self.log = self.rig.open(now_ms=self.now)
        assert self.log.flushed == self.log.log_end == self.end
        assert self.everything() == self.visible()

    def teardown(self) -> None:
        if self.rig is not None:
            self.rig.cache.close()
        shutil.rmtree(self.root)


class MemoryMachine(LogMachine):
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
        self.engine.run_retention(self.now)


SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
TestDiskLog = pytest.mark.feature("P-02", "P-03", "P-05", "K-13")(DiskMachine.TestCase)
TestDiskLog.settings = SETTINGS
TestMemoryLog = pytest.mark.feature("K-12", "K-13")(MemoryMachine.TestCase)
TestMemoryLog.settings = SETTINGS
