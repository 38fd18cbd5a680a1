"""Forgetting the front of a log: by time, by size, below its start; what must be durable before files go."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.interface import LogConfig
from penstock.storage.log.retention import plan_retention, run_retention
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.memory.log import MemoryLog
from tests.unit.storage.log_rig import NOW, PARTITION, Rig, put, read_all, values_of

pytestmark = pytest.mark.feature("K-13")


def rig_with(tmp_path: Path, count: int, **config: int) -> Rig:
    rig = Rig(tmp_path, LogConfig(segment_bytes=300, index_interval_bytes=100, **config))  # type: ignore[arg-type]
    for index in range(count):
        rig.append(b"x" * 100, timestamp=NOW + index * 1000)
    return rig


def test_by_time_from_the_front_only(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 0, retention_ms=5000)
    for age in (9, 8, 2, 7, 1, 0):  # seconds; one batch of this size fills a segment
        rig.append(b"x" * 200, timestamp=NOW - age * 1000)
    assert run_retention(rig.log, NOW) == 2
    assert [record.offset for record in read_all(rig.log)] == [2, 3, 4, 5]
    assert rig.journal.log_start == rig.log.log_start == 2
    assert len(rig.names(".log")) == 4


def test_by_size(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 10, retention_ms=-1, retention_bytes=700)
    run_retention(rig.log, NOW)
    assert 700 <= rig.log.size_bytes < 700 + 340
    assert len(rig.names(".log")) == rig.log.segment_count


def test_an_expired_active_segment_is_rolled_and_removed(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 3, retention_ms=1000)
    run_retention(rig.log, NOW + 1_000_000)
    assert (rig.log.log_start, rig.log.log_end, rig.log.size_bytes) == (3, 3, 0)
    assert rig.names(".log") == [f"{3:020d}.log"]
    assert run_retention(rig.log, NOW + 2_000_000) == 0
    for clean in (True, False):
        rig.reopen(clean=clean)
        assert (rig.log.log_start, rig.log.log_end) == (3, 3)
    assert rig.append(b"again").base_offset == 3


def test_nothing_unflushed_goes(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 0, retention_ms=0)
    for _ in range(4):
        put(rig.log, b"x" * 100, timestamp=NOW - 5000)
    assert run_retention(rig.log, NOW) == 0
    rig.flush()
    assert run_retention(rig.log, NOW) > 0


def test_compacted_only_topics_keep_everything_above_their_start(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 6, retention_ms=0, cleanup_delete=False, cleanup_compact=True)
    assert run_retention(rig.log, NOW + 1_000_000) == 0
    rig.log.delete_records(4)
    assert run_retention(rig.log, NOW + 1_000_000) > 0
    assert len(read_all(rig.log)) == 2


def test_readers_keep_what_they_hold_and_files_go_when_told(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 6, retention_ms=1000)
    held = rig.log.read(0, 1 << 20, end=6, one_batch_at_least=True, wait=True)
    plan = plan_retention(rig.log, NOW + 100_000)
    assert plan is not None
    assert rig.log.log_start == 0, "still there for everybody"
    plan.make_durable()
    assert rig.journal.log_start == 6
    assert rig.names(".snapshot")
    paths = plan.finish()
    assert rig.log.log_start == 6
    assert all(path.exists() for path in paths if path.suffix == ".log")
    assert len(held.records) > 100
    rig.reopen(clean=False)
    assert (rig.log.log_start, rig.log.log_end) == (6, 6)
    run_retention(rig.log, NOW + 100_000)
    assert len(rig.names(".log")) == 1


def test_delete_records_has_its_bounds(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 5)
    rig.log.delete_records(3)
    rig.log.delete_records(1)
    assert rig.log.log_start == 3
    with pytest.raises(KafkaError) as raised:
        rig.log.delete_records(6)
    assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    rig.reopen(clean=False)
    assert rig.log.log_start == 3
    assert len(values_of(rig.log)) == 2


@pytest.mark.feature("K-12", "P-01")
def test_the_memory_engine_shows_what_was_appended_when_the_loop_comes_round() -> None:
    engine = MemoryEngine(StorageSettings())
    soon: list[Callable[[], None]] = []
    flushed: list[object] = []
    engine.start(lambda log: flushed.append(log), lambda call, *args: soon.append(call), background=False)
    engine.declare("t", PARTITION, LogConfig(), 3)
    log = engine.log(PARTITION)
    assert isinstance(log, MemoryLog)
    put(log, b"a")
    put(log, b"b")
    assert (log.flushed, log.log_end, len(soon)) == (0, 2, 1)
    soon.pop()()
    assert (log.flushed, flushed) == (2, [log])
    assert values_of(log) == [b"a", b"b"]
    assert log.epoch_end(3) == (3, 2)
    engine.remove(PARTITION)
    with pytest.raises(KafkaError):
        put(log, b"c")
    with pytest.raises(KeyError):
        engine.log(PARTITION)
    engine.close()


def test_records_without_timestamp_are_as_old_as_their_file(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, 0, retention_ms=5000)
    for _ in range(4):
        rig.append(b"x" * 200, timestamp=-1)
    modified = [NOW - 9000, NOW - 6000, NOW - 1000, NOW]
    for path, when_ms in zip(sorted(tmp_path.rglob("*.log")), modified, strict=True):
        os.utime(path, ns=(when_ms * 1_000_000, when_ms * 1_000_000))
    assert run_retention(rig.log, NOW) == 2
    assert [record.offset for record in read_all(rig.log)] == [2, 3]


def test_records_without_timestamp_roll_by_the_clock(tmp_path: Path) -> None:
    rig = Rig(tmp_path, LogConfig(segment_ms=5000))
    for after_ms in (0, 4000, 5001, 6000):
        put(rig.log, b"x", timestamp=-1, now_ms=NOW + after_ms)
    assert [segment.base_offset for segment in rig.log.segments] == [0, 2]
