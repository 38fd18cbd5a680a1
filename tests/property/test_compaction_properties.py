"""Compaction against a plain list, on disk and in memory: random keys, tombstones, producers, waits and restarts.

However often a log is compacted, a reader from its beginning ends with the same last value of every key as one who saw
every record; what it meets on the way was written so, in that order, with those times; nothing above the part that is
called clean is missing, and in that part nothing is left that a later record replaces.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.model.batch import check_batch
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import PartitionId
from penstock.storage.interface import Appended
from tests.support.engine_bench import TOPIC, EngineBench, LogBench, MemoryBench

PARTITION = PartitionId(TOPIC, 0)
PRODUCER = 5
DELETE_RETENTION_MS = 3000
CONFIG: dict[str, Any] = {
    "cleanup_compact": True,
    "cleanup_delete": False,
    "segment_bytes": 600,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": DELETE_RETENTION_MS,
    "timestamp_after_max_ms": 1 << 60,
}


class Written(NamedTuple):
    offset: int
    timestamp: int
    key: bytes
    value: bytes | None
    written_ms: int


class CompactionMachine(RuleBasedStateMachine):
    bench: LogBench

    def __init__(self) -> None:
        super().__init__()
        self.model: list[Written] = []
        self.sequence = 0
        self.last_sent: tuple[list[NewRecord], int] | None = None

    def clean_end(self) -> int:
        raise AssertionError

    def append_batch(self, records: list[NewRecord], codec: int, sequence: int) -> Appended:
        producer = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": sequence} if sequence >= 0 else {}
        now = self.bench.clock.now_ms()
        batch = build_batch(records, timestamp=now, codec=codec, **producer)  # type: ignore[arg-type]
        return self.bench.engine.log(PARTITION).append(batch, check_batch(batch), now)

    @rule(
        keys=st.lists(st.integers(0, 4), min_size=1, max_size=5),
        values=st.lists(st.none() | st.binary(max_size=40), min_size=5, max_size=5),
        jitter=st.integers(-500, 500),
        codec=st.integers(0, 4),
        idempotent=st.booleans(),
    )
    def append(self, keys: list[int], values: list[bytes | None], jitter: int, codec: int, idempotent: bool) -> None:
        now = self.bench.clock.now_ms()
        records = [
            NewRecord(b"key %d" % key, value, (), now + jitter * index)
            for index, (key, value) in enumerate(zip(keys, values, strict=False))
        ]
        appended = self.append_batch(records, codec, self.sequence if idempotent else -1)
        for index, record in enumerate(records):
            assert record.key is not None
            assert record.timestamp is not None
            self.model.append(Written(appended.base_offset + index, record.timestamp, record.key, record.value, now))
        if idempotent:
            self.sequence += len(records)
            self.last_sent = records, appended.base_offset
        self.bench.settle()

    @precondition(lambda self: self.last_sent is not None)
    @rule()
    def send_again(self) -> None:
        assert self.last_sent is not None
        records, offset = self.last_sent
        appended = self.append_batch(records, 0, self.sequence - len(records))
        assert (appended.duplicate, appended.base_offset) == (True, offset)

    @rule(milliseconds=st.integers(1, DELETE_RETENTION_MS))
    def wait(self, milliseconds: int) -> None:
        self.bench.clock.advance(milliseconds)

    @rule()
    def compact(self) -> None:
        for _ in range(4):
            self.bench.clock.advance(10)
            self.bench.engine.tick()
            self.bench.settle()

    @rule()
    def look_up_times(self) -> None:
        log = self.bench.engine.log(PARTITION)
        shown = self.bench.records()
        for target in {written.timestamp for written in self.model[-20:]}:
            found = log.find_timestamp(target, end=log.flushed)
            expected = next((record for record in shown if record.timestamp >= target), None)
            assert (found and found.offset) == (expected and expected.offset)

    @invariant()
    def a_reader_gets_the_same_state(self) -> None:
        shown = self.bench.records()
        by_offset = {one.offset: one for one in self.model}
        state: dict[bytes, bytes] = {}
        for record in shown:
            written = by_offset[record.offset]
            assert (record.timestamp, record.key, record.value) == written[1:4]
            apply(state, written)
        assert [record.offset for record in shown] == sorted(record.offset for record in shown)
        expected: dict[bytes, bytes] = {}
        for written in self.model:
            apply(expected, written)
        assert state == expected

    @invariant()
    def only_what_was_replaced_is_gone(self) -> None:
        log = self.bench.engine.log(PARTITION)
        assert (log.log_start, log.log_end) == (0, len(self.model))
        now, clean_end = self.bench.clock.now_ms(), self.clean_end()
        shown = {record.offset for record in self.bench.records()}
        last = {one.key: one for one in self.model if one.offset < clean_end}
        for one in self.model:
            if one.offset >= clean_end:
                assert one.offset in shown
            elif one.offset in shown:
                assert last[one.key] is one
            elif last[one.key] is one:
                assert one.value is None
                assert now - one.written_ms >= DELETE_RETENTION_MS


def apply(state: dict[bytes, bytes], written: Written) -> None:
    if written.value is None:
        state.pop(written.key, None)
    else:
        state[written.key] = written.value


class DiskMachine(CompactionMachine):
    bench: EngineBench

    def __init__(self) -> None:
        super().__init__()
        self.cleaned = 0
        self.root = Path(tempfile.mkdtemp(prefix="penstock-compaction-"))
        self.bench = EngineBench(self.root, compaction_check_interval_ms=1)
        self.bench.create("t", TOPIC, **CONFIG)
        self.bench.start()

    def clean_end(self) -> int:
        """A start without the catalog knows of nothing clean; what went before is gone all the same."""
        self.cleaned = max(self.cleaned, self.bench.engine.catalog.first_dirty(PARTITION))
        return self.cleaned

    @rule()
    def restart(self) -> None:
        self.clean_end()
        self.bench.engine.close()
        self.bench = EngineBench(self.root, clock=self.bench.clock, compaction_check_interval_ms=1)
        self.bench.declare("t", TOPIC, **CONFIG)
        self.bench.start()

    def teardown(self) -> None:
        self.bench.engine.close()
        shutil.rmtree(self.root)


class MemoryMachine(CompactionMachine):
    bench: MemoryBench

    def __init__(self) -> None:
        super().__init__()
        self.bench = MemoryBench(compaction_check_interval_ms=1)
        self.bench.create("t", TOPIC, **CONFIG)
        self.bench.start()

    def clean_end(self) -> int:
        return self.bench.engine.log(PARTITION).first_dirty

    @invariant()
    def memory_is_counted(self) -> None:
        log = self.bench.engine.log(PARTITION)
        assert self.bench.engine.used_bytes == log.size_bytes == sum(len(one.data) for one in log.segments)


SETTINGS = settings(max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
TestDiskCompaction = pytest.mark.feature("K-13")(DiskMachine.TestCase)
TestDiskCompaction.settings = SETTINGS
TestMemoryCompaction = pytest.mark.feature("K-12", "K-13")(MemoryMachine.TestCase)
TestMemoryCompaction.settings = SETTINGS
