"""Compaction of aborted, committed and open transactions, on disk and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.model.batch import BatchHeader, check_batch, iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, parse_marker
from penstock.model.ids import PartitionId
from penstock.storage.interface import AbortedTransaction
from penstock.storage.log.log import DiskLog
from penstock.storage.memory.log import MemoryLog
from tests.support.committed_reader import read_committed
from tests.support.engine_bench import TOPIC, EngineBench, MemoryBench

pytestmark = pytest.mark.feature("K-07", "K-13")

KEYED: dict[str, Any] = {
    "cleanup_compact": True,
    "cleanup_delete": False,
    "segment_bytes": 20_000,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": 10_000,
}


class World:
    """A compacted log with producers that count their sequences."""

    def __init__(self, bench: EngineBench | MemoryBench) -> None:
        self.bench = bench
        bench.create("keyed", TOPIC, **KEYED)
        bench.start()
        self.sequences: dict[int, int] = {}

    @property
    def log(self) -> DiskLog | MemoryLog:
        return self.bench.engine.log(PartitionId(TOPIC, 0))

    def put(self, producer_id: int, key: str, value: str | None, *, transactional: bool = True) -> int:
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + 1
        now_ms = self.bench.clock.now_ms()
        batch = build_batch(
            [NewRecord(key.encode(), None if value is None else value.encode())],
            timestamp=now_ms,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=transactional,
        )
        return self.log.append(batch, check_batch(batch), now_ms).base_offset

    def end(self, producer_id: int, *, commit: bool) -> int:
        return self.log.append_marker(Marker(producer_id, 0, 0, commit), self.bench.clock.now_ms()).base_offset

    def seal(self) -> None:
        """Everything so far is flushed and in sealed segments."""
        self.bench.settle()
        log = self.log
        log.roll()

    def compact(self, advance_ms: int = 10) -> None:
        """Something dirty, and a run over it."""
        self.put(99, f"filler {self.log.log_end}", "x", transactional=False)
        self.seal()
        self.bench.clock.advance(advance_ms)
        for _ in range(4):
            self.bench.clock.advance(10)
            self.bench.engine.tick()
            self.bench.settle()

    def headers(self) -> list[BatchHeader]:
        """Of all batches but the fillers'."""
        log = self.log
        data = [
            segment.path.read_bytes() if isinstance(log, DiskLog) else segment.data  # type: ignore[union-attr]
            for segment in log.segments
        ]
        return [header for one in data for _, header in iter_headers(one) if header.producer_id != 99]

    def committed(self) -> list[tuple[int, str, str]]:
        return [
            (record.offset, (record.key or b"").decode(), (record.value or b"").decode())
            for record in read_committed(self.log)
            if not (record.key or b"").startswith(b"filler")
        ]

    def aborted(self) -> list[AbortedTransaction]:
        return self.log.aborted_transactions(0, self.log.last_stable, wait=True)


@pytest.fixture(params=["disk", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "memory":
        yield World(MemoryBench(compaction_check_interval_ms=1))
    else:
        bench = EngineBench(tmp_path, compaction_check_interval_ms=1)
        yield World(bench)
        bench.engine.close()


def test_what_was_aborted_goes_and_replaces_nothing(world: World) -> None:
    world.put(1, "a", "committed")
    world.end(1, commit=True)
    world.put(2, "a", "aborted")
    world.put(2, "b", "aborted, too")
    world.end(2, commit=False)
    world.put(2, "c", "later")  # so that no aborted batch is the last of its producer
    world.end(2, commit=True)
    world.bench.settle()
    before = world.committed()
    assert before == [(0, "a", "committed"), (5, "c", "later")]
    world.compact()
    assert world.committed() == before
    assert [header.base_offset for header in world.headers()] == [0, 1, 4, 5, 6]


def test_a_committed_one_replaces_what_came_before(world: World) -> None:
    world.put(1, "a", "old")
    world.end(1, commit=True)
    world.put(1, "a", "new")
    world.end(1, commit=True)
    world.put(1, "z", "last")
    world.end(1, commit=True)
    world.compact()
    assert world.committed() == [(2, "a", "new"), (4, "z", "last")]
    # The first marker has lost its transaction, but only just: it goes by and by.
    assert [header.base_offset for header in world.headers()] == [1, 2, 3, 4, 5]


def test_an_open_one_is_not_touched_nor_anything_after_its_beginning(world: World) -> None:
    world.put(1, "a", "1", transactional=False)
    world.put(1, "a", "2", transactional=False)
    world.seal()
    world.put(2, "a", "open")
    world.put(1, "a", "3", transactional=False)
    world.put(1, "a", "4", transactional=False)
    world.compact()
    assert [header.base_offset for header in world.headers()] == [1, 2, 3, 4]
    assert world.log.last_stable == 2
    world.end(2, commit=False)
    world.compact()
    assert world.committed() == [(4, "a", "4")]


def test_the_last_batch_of_a_producer_stays_without_records(world: World) -> None:
    world.put(1, "a", "aborted")
    marker = world.end(1, commit=False)
    for _ in range(3):
        world.compact(advance_ms=20_000)
    found = world.headers()
    assert [(header.base_offset, header.record_count) for header in found] == [(0, 0), (marker, 1)]
    assert world.committed() == []
    again = world.log.producer(1)
    assert again is not None
    assert again.last_sequence == 0


def test_markers_go_after_their_transactions_and_a_delay(world: World) -> None:
    world.put(1, "a", "aborted")
    abort = world.end(1, commit=False)
    world.put(1, "b", "old")
    commit = world.end(1, commit=True)
    world.put(1, "b", "new", transactional=False)
    world.compact()  # takes the batches
    assert [header.base_offset for header in world.headers()] == [abort, commit, 4]
    assert world.aborted() == [AbortedTransaction(1, 0)]
    world.compact()  # gives the markers their horizons
    first, second, _ = world.headers()
    assert first.has_delete_horizon
    assert second.has_delete_horizon
    assert world.aborted() == []
    world.compact(advance_ms=5_000)
    assert len(world.headers()) == 3
    world.compact(advance_ms=6_000)
    assert [header.base_offset for header in world.headers()] == [4]
    assert world.committed() == [(4, "b", "new")]
    assert world.log.last_stable == world.log.log_end


def test_a_marker_with_a_horizon_is_still_one(world: World) -> None:
    world.put(1, "b", "old")
    world.end(1, commit=True)
    world.put(1, "b", "new", transactional=False)
    world.compact()
    world.compact()
    log = world.log
    (header,) = [header for header in world.headers() if header.is_control]
    found = log.read(header.base_offset, 1, end=log.flushed, one_batch_at_least=True, wait=True)
    assert parse_marker(found.records, header) == Marker(1, 0, 0, True)


def test_a_transaction_whose_marker_lies_above_what_is_compacted(world: World) -> None:
    world.put(1, "a", "committed", transactional=False)
    world.put(2, "a", "aborted")
    world.seal()
    world.put(3, "b", "open")
    world.end(2, commit=False)
    world.compact()
    assert world.log.last_stable == 2
    assert world.committed() == [(0, "a", "committed")]
    assert [(header.base_offset, header.record_count) for header in world.headers()][:2] == [(0, 1), (1, 0)]
    world.end(3, commit=True)
    world.compact()
    assert world.committed() == [(0, "a", "committed"), (2, "b", "open")]


def test_many_runs_show_the_same(world: World) -> None:
    expected: dict[str, tuple[int, str, str]] = {}
    for index in range(60):
        producer_id, key = index % 5, f"k{index % 7}"
        offset = world.put(producer_id, key, f"v{index}")
        is_commit = index % 3 != 0
        world.end(producer_id, commit=is_commit)
        if is_commit:
            expected[key] = (offset, key, f"v{index}")
        if index % 10 == 9:
            world.compact(advance_ms=4_000)
            shown = world.committed()
            assert {key: row for row in shown for key in (row[1],)} == expected
            if index > 10:
                assert len(shown) < index


def test_what_compaction_left_survives_restarts(tmp_path: Path) -> None:
    world = World(EngineBench(tmp_path, compaction_check_interval_ms=1))
    for index in range(30):
        world.put(index % 3, f"k{index % 4}", f"v{index}")
        world.end(index % 3, commit=index % 2 == 0)
    world.compact()
    world.put(1, "open", "open")
    world.bench.settle()
    before, aborted = world.committed(), world.aborted()
    assert aborted
    for lost in ((), (".txnindex",), (".txnindex", ".snapshot"), (".index", ".txnindex")):
        world.bench.engine.close()
        for suffix in lost:
            for path in tmp_path.rglob("*" + suffix):
                path.unlink()
        bench = EngineBench(tmp_path)
        bench.declare("keyed", TOPIC, **KEYED)
        bench.start()
        world.bench = bench
        assert world.committed() == before
        assert [one.current_txn_start_offset for one in world.log.producers() if one.current_txn_start_offset >= 0]
    world.bench.engine.close()
