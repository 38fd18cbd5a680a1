"""Compaction of logs in memory: by the same rules, in the worker process, with whatever happens meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from penstock.model.batch import HEADER_BYTES, check_batch, read_header
from penstock.model.batch_builder import NewRecord, assemble_batch, build_batch
from penstock.model.ids import PartitionId
from penstock.runtime.worker import Done, ProcessWorker, WorkerDied
from penstock.storage.memory import compaction
from penstock.storage.memory.compaction import CleaningRules, RunLost
from penstock.storage.memory.log import MemoryLog
from penstock.testing.inline_worker import InlineWorker
from tests.support.engine_bench import TOPIC, MemoryBench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-12", "K-13")

KEYED: dict[str, Any] = {
    "cleanup_compact": True,
    "cleanup_delete": False,
    "segment_bytes": 2000,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": 10_000,
}


class StubbornWorker(InlineWorker):
    """Keeps tasks until it is told to go on, and may die instead."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Done, Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        self.waiting.append((done, function, args))

    def go_on(self) -> None:
        done, function, args = self.waiting.pop(0)
        super().submit(done, function, *args)

    def die(self) -> None:
        done, _, _ = self.waiting.pop(0)
        done(None, WorkerDied("killed"))


def keyed(worker: Any = None, **config: Any) -> MemoryBench:
    bench = MemoryBench(worker=worker, compaction_check_interval_ms=1)
    bench.create("keyed", TOPIC, **(KEYED | config))
    return bench.start()


def the_log(bench: MemoryBench) -> MemoryLog:
    return bench.engine.log(PartitionId(TOPIC, 0))


def fill(bench: MemoryBench, count: int = 40) -> None:
    for n in range(count):
        bench.append(f"v{n}" + "x" * 200, key=f"k{n % 3}".encode())
    bench.settle()


def compact(bench: MemoryBench) -> None:
    bench.clock.advance(10)
    bench.engine.tick()
    bench.settle()


def offsets(bench: MemoryBench) -> list[int]:
    return [record.offset for record in bench.records()]


def test_the_last_record_of_each_key_stays_where_it_was() -> None:
    bench = keyed()
    fill(bench)
    log = the_log(bench)
    before = log.size_bytes
    active = log.segments[-1].base_offset
    compact(bench)
    assert offsets(bench) == [*range(active - 3, active), *range(active, 40)]
    assert (log.log_start, log.log_end, log.segment_count) == (0, 40, 2)  # what was left was merged
    assert bench.engine.used_bytes == log.size_bytes < before / 3
    assert log.read(0, 1 << 20, end=40, one_batch_at_least=True, wait=True).first_offset == active - 3


def test_offset_commits_do_not_grow_for_ever() -> None:
    """A topic as __consumer_offsets is: large segments by its config, a few keys written again and again."""
    bench = keyed(segment_bytes=100 << 20, min_cleanable_dirty_ratio=0.5)
    log = the_log(bench)
    for _ in range(12):
        for n in range(50):
            batch = build_batch([NewRecord(b"group %d" % (n % 5), b"o" * 20_000)], timestamp=bench.clock.now_ms())
            log.append_trusted(batch, check_batch(batch), bench.clock.now_ms())
        bench.settle()
        compact(bench)
        assert log.size_bytes < 3 << 20
    assert log.log_end == 600


def test_tombstones_go_after_their_time() -> None:
    bench = keyed()
    bench.append("value", key=b"a")
    bench.append(None, key=b"a")
    fill(bench)
    compact(bench)
    assert offsets(bench)[0] == 1
    fill(bench)
    bench.clock.advance(10_000)
    compact(bench)
    assert 1 not in offsets(bench)


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    bench = keyed()
    bench.append("1", key=b"a", producer=(9, 0))
    fill(bench)
    bench.append("2", key=b"a")
    fill(bench)
    compact(bench)
    log = the_log(bench)
    first = read_header(log.read(0, 1, end=log.flushed, one_batch_at_least=True, wait=True).records)
    assert (first.base_offset, first.producer_id, first.record_count) == (0, 9, 0)
    assert bench.append("1", key=b"a", producer=(9, 0)).duplicate


def test_what_cannot_be_decoded_stays_and_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    bench = keyed()
    good = build_batch([NewRecord(b"a", b"bad")], timestamp=bench.clock.now_ms())
    bad = assemble_batch(read_header(good), b"\xff" * (len(good) - HEADER_BYTES))
    the_log(bench).append(bad, read_header(bad), bench.clock.now_ms())
    fill(bench)
    with caplog.at_level(logging.WARNING):
        compact(bench)
    log = the_log(bench)
    assert log.read(0, 1, end=log.flushed, one_batch_at_least=True, wait=True).records == bad
    assert "cannot be decoded" in caplog.text


def test_a_lag_keeps_young_records_and_another_rolls_old_ones() -> None:
    bench = keyed(min_compaction_lag_ms=60_000, max_compaction_lag_ms=120_000)
    fill(bench)
    compact(bench)
    assert len(offsets(bench)) == 40
    bench.clock.advance(121_000)
    compact(bench)
    assert offsets(bench) == [37, 38, 39]  # what was active is sealed, and compacted with the rest


def test_retention_of_what_compaction_emptied() -> None:
    """A segment without records must not keep the expired ones after it."""
    bench = keyed(cleanup_delete=True, retention_ms=60_000)
    log = the_log(bench)
    bench.append("v" * 1900, key=b"a")
    bench.append("w" * 1900, key=b"a")
    bench.append("y" * 1900, key=b"b")
    bench.settle()
    compact(bench)
    assert offsets(bench) == [1, 2]
    bench.clock.advance(61_000)
    bench.engine.tick()
    assert (log.log_start, log.log_end) == (3, 3)


def test_the_log_goes_while_it_is_compacted() -> None:
    worker = StubbornWorker()
    bench = keyed(worker)
    fill(bench)
    compact(bench)
    bench.engine.remove(PartitionId(TOPIC, 0))
    while worker.waiting:
        worker.go_on()
        bench.settle()
    assert bench.engine.used_bytes == 0
    bench.create("keyed", TOPIC, **KEYED)
    fill(bench)
    compact(bench)
    assert worker.waiting  # the next run is free to begin


def test_retention_takes_segments_while_they_are_compacted() -> None:
    worker = StubbornWorker()
    bench = keyed(worker)
    fill(bench)
    compact(bench)
    log = the_log(bench)
    log.delete_records(20)
    while worker.waiting:
        worker.go_on()
        bench.settle()
    assert (log.log_start, bench.engine.used_bytes) == (20, sum(segment.size for segment in log.segments))
    assert offsets(bench)[0] >= 20
    assert {record.key for record in bench.records()} == {b"k0", b"k1", b"k2"}


def test_a_worker_that_dies_costs_only_time() -> None:
    worker = StubbornWorker()
    bench = keyed(worker)
    fill(bench)
    for dies_after in (0, 3):
        compact(bench)
        for _ in range(dies_after):
            worker.go_on()
            bench.settle()
        worker.die()
        bench.settle()
        assert not worker.waiting
    compact(bench)
    while worker.waiting:
        worker.go_on()
        bench.settle()
    assert len(offsets(bench)) < 15


def test_a_worker_process_that_was_started_anew_does_not_know_the_run() -> None:
    compaction.begin("old", CleaningRules(0, {}, 0, 0))
    compaction.begin("new", CleaningRules(0, {}, 0, 0))
    with pytest.raises(RunLost):
        compaction.end("old")
    assert compaction.end("new").clean_end == 0


def test_a_full_map_ends_the_run_where_it_was_full() -> None:
    bench = keyed()
    fill(bench)
    segments = the_log(bench).segments[:-1]
    compaction.begin("run", CleaningRules(0, {}, 0, 0, key_count_max=2))
    assert not compaction.map_segment("run", segments[0])
    assert compaction.end("run").clean_end == 2


def test_closing_ends_a_run() -> None:
    worker = StubbornWorker()
    bench = keyed(worker)
    fill(bench)
    compact(bench)
    bench.engine.close()
    worker.go_on()
    bench.settle()
    assert not worker.waiting


def test_in_the_real_worker_process() -> None:
    worker = ProcessWorker()
    bench = keyed(worker)
    fill(bench)
    bench.clock.advance(10)
    bench.engine.tick()
    log = the_log(bench)

    def compacted() -> bool:
        bench.settle()
        return log.first_dirty > 0

    wait_until(compacted, what="the log is compacted")
    assert len(offsets(bench)) < 15
    bench.engine.close()
