"""Compaction through the engine: what is left of keys, tombstones, producers, and what it does not understand."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.model.batch import HEADER_BYTES, BatchHeader, iter_headers, read_header
from penstock.model.batch_builder import NewRecord, assemble_batch, build_batch
from penstock.model.ids import PartitionId
from penstock.runtime.files import Files
from penstock.storage.compaction.backoff import PAUSE_MS
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.testing.faulty_files import FaultyFiles, Kind
from tests.support.engine_bench import TOPIC, EngineBench

KEYED: dict[str, Any] = {
    "cleanup_compact": True,
    "cleanup_delete": False,
    "segment_bytes": 2000,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": 10_000,
}


def keyed(root: Path, files: Files | None = None, **config: Any) -> EngineBench:
    bench = EngineBench(root, files, compaction_check_interval_ms=1)
    bench.create("keyed", TOPIC, **(KEYED | config))
    return bench.start()


def the_log(bench: EngineBench) -> DiskLog:
    return bench.engine.log(PartitionId(TOPIC, 0))


def put(bench: EngineBench, key: str, value: str | None, producer: tuple[int, int] = (-1, -1)) -> None:
    bench.append(value, key=key.encode(), producer=producer)


def seal(bench: EngineBench) -> None:
    """Everything so far is flushed and in sealed segments."""
    bench.settle()
    log = the_log(bench)
    log.roll()


def compact(bench: EngineBench) -> None:
    """Two looks: the first may find that a recovery point is missing."""
    for _ in range(4):
        bench.clock.advance(10)
        bench.engine.tick()
        bench.settle()


def pairs(bench: EngineBench) -> list[tuple[int, str, str | None]]:
    return [
        (record.offset, (record.key or b"").decode(), None if record.value is None else record.value.decode())
        for record in bench.records()
    ]


def headers(bench: EngineBench) -> list[BatchHeader]:
    return [header for segment in the_log(bench).segments for _, header in iter_headers(segment.path.read_bytes())]


def test_the_last_record_of_each_key_stays_where_it_was(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    put(bench, "k0", "active")
    compact(bench)
    assert [(offset, key) for offset, key, _ in pairs(bench)] == [(37, "k1"), (38, "k2"), (39, "k0"), (40, "k0")]
    log = the_log(bench)
    assert (log.log_start, log.log_end) == (0, 41)
    assert log.segment_count < 5  # what was left was merged


def test_survives_a_restart(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    compact(bench)
    before = pairs(bench)
    assert len(before) == 3
    bench.engine.close()
    again = EngineBench(tmp_path)
    again.declare("keyed", TOPIC, **KEYED)
    again.start()
    assert pairs(again) == before
    put(again, "k9", "new")
    again.settle()
    assert pairs(again)[-1][0] == 40
    again.engine.close()


def test_a_recovery_point_in_a_segment_that_is_compacted_later(tmp_path: Path) -> None:
    """The recovery point expects the active segment to grow; sealed just above it, it must not shrink instead."""
    bench = EngineBench(tmp_path, compaction_check_interval_ms=1, checkpoint_interval_ms=1)
    bench.create("keyed", TOPIC, **KEYED)
    bench.start()
    for n in range(3):
        put(bench, "a", f"{n}" + "x" * 300)
    bench.settle()
    bench.clock.advance(10)
    bench.engine.tick()
    bench.settle()
    assert the_log(bench).snapshot_end == 3
    seal(bench)
    put(bench, "b", "1")
    compact(bench)
    assert [offset for offset, _, _ in pairs(bench)] == [2, 3]
    again = EngineBench(tmp_path)
    again.declare("keyed", TOPIC, **KEYED)
    again.start()
    assert the_log(again).state is LogState.ONLINE
    assert [offset for offset, _, _ in pairs(again)] == [2, 3]
    again.engine.close()


def test_what_is_due_does_not_wait_for_another_look(tmp_path: Path) -> None:
    """A look may find that a recovery point is missing: compaction follows when it stands, not an interval later."""
    interval_ms = 100_000
    bench = EngineBench(tmp_path, compaction_check_interval_ms=interval_ms)
    bench.create("keyed", TOPIC, **KEYED)
    bench.start()
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    bench.clock.advance(interval_ms)
    for _ in range(4):
        bench.engine.tick()
        bench.settle()
        bench.clock.advance(250)
    assert [offset for offset, _, _ in pairs(bench)] == [37, 38, 39]
    bench.engine.close()


def test_a_clean_log_is_left_alone(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    for n in range(20):
        put(bench, f"k{n % 3}", "x" * 300)
    seal(bench)
    compact(bench)
    first = the_log(bench).segments
    compact(bench)
    assert the_log(bench).segments == first


def test_too_little_dirt_waits(tmp_path: Path) -> None:
    bench = keyed(tmp_path, min_cleanable_dirty_ratio=0.9)
    for n in range(20):
        put(bench, f"k{n}", "x" * 300)
    seal(bench)
    compact(bench)  # all of it was dirty
    put(bench, "k1", "new")
    seal(bench)
    compact(bench)
    assert len(pairs(bench)) == 21


def test_young_records_wait_and_old_ones_do_not(tmp_path: Path) -> None:
    bench = keyed(tmp_path, min_compaction_lag_ms=5000)
    put(bench, "a", "1")
    put(bench, "a", "2")
    seal(bench)
    compact(bench)
    assert len(pairs(bench)) == 2
    bench.clock.advance(6000)
    compact(bench)
    assert len(pairs(bench)) == 1


def test_overdue_records_are_compacted_even_in_the_active_segment(tmp_path: Path) -> None:
    bench = keyed(tmp_path, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5000)
    put(bench, "a", "1")
    put(bench, "a", "2")
    bench.settle()
    compact(bench)
    assert len(pairs(bench)) == 2
    bench.clock.advance(6000)
    compact(bench)
    assert pairs(bench) == [(1, "a", "2")]


def test_tombstones_get_a_horizon_and_go_after_it(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    started = bench.clock.now_ms()
    put(bench, "a", "1")
    put(bench, "a", None)
    seal(bench)
    compact(bench)
    assert pairs(bench) == [(1, "a", None)]
    header = headers(bench)[0]
    assert header.has_delete_horizon
    assert header.base_timestamp >= started + 10_000
    assert header.max_timestamp == started
    assert bench.records()[0].timestamp == started
    bench.clock.advance(20_000)
    put(bench, "b", "1")
    seal(bench)
    compact(bench)
    assert pairs(bench) == [(2, "b", "1")]


@pytest.mark.feature("X-02")
def test_the_last_batch_of_a_producer_stays_even_when_empty(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    put(bench, "a", "1", producer=(5, 0))
    put(bench, "a", "2", producer=(5, 1))
    put(bench, "a", "3")
    seal(bench)
    compact(bench)
    assert pairs(bench) == [(2, "a", "3")]
    empty = headers(bench)[0]
    assert (empty.producer_id, empty.base_sequence, empty.base_offset, empty.record_count) == (5, 1, 1, 0)
    for path in tmp_path.rglob("*.snapshot"):
        path.unlink()
    again = EngineBench(tmp_path)
    again.declare("keyed", TOPIC, **KEYED)
    again.start()
    assert again.append("2", key=b"a", producer=(5, 1)).duplicate


def test_batches_keep_their_shape(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    records = [NewRecord(key.encode(), value.encode()) for key, value in (("a", "1"), ("b", "2"), ("c", "3"))]
    for codec in range(5):
        batch = build_batch(records, timestamp=bench.clock.now_ms(), codec=codec)
        the_log(bench).append(batch, read_header(batch), bench.clock.now_ms())
    put(bench, "a", "9")
    put(bench, "c", "9")
    seal(bench)
    compact(bench)
    assert pairs(bench) == [(13, "b", "2"), (15, "a", "9"), (16, "c", "9")]
    kept = headers(bench)[0]
    assert (kept.base_offset, kept.last_offset, kept.record_count, kept.codec) == (12, 14, 1, 4)


def test_what_cannot_be_decoded_is_kept_and_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = keyed(tmp_path)
    put(bench, "a", "1")
    good = build_batch([NewRecord(b"a", b"2")], timestamp=bench.clock.now_ms())
    bad = assemble_batch(read_header(good), b"\xff" * (len(good) - HEADER_BYTES))
    the_log(bench).append(bad, read_header(bad), bench.clock.now_ms())
    put(bench, "a", "3")
    seal(bench)
    with caplog.at_level(logging.WARNING):
        compact(bench)
    assert [header.base_offset for header in headers(bench)] == [1, 2]
    assert "cannot be decoded" in caplog.text


def test_damage_is_not_compacted_away(tmp_path: Path) -> None:
    bench = keyed(tmp_path)
    for n in range(20):
        put(bench, "a", f"{n}" + "x" * 300)
    seal(bench)
    segment = the_log(bench).segments[1]
    content = bytearray(segment.path.read_bytes())
    content[400] ^= 1
    segment.path.write_bytes(content)
    compact(bench)
    assert the_log(bench).state is LogState.DAMAGED
    assert segment.path.read_bytes() == content
    assert list(tmp_path.rglob("*.swap")) == []


def test_a_full_map_goes_on_at_the_next_run(tmp_path: Path) -> None:
    from penstock.runtime.files import RealFiles
    from penstock.storage.compaction.compaction import CompactionRequest
    from penstock.storage.compaction.compaction import compact as run

    bench = keyed(tmp_path)
    for n in range(30):
        put(bench, f"k{n % 10}", f"{n}" + "x" * 100)
    seal(bench)
    log = the_log(bench)
    request = CompactionRequest(
        log.directory, [segment.entry() for segment in log.segments[:-1]], 0, 1 << 20, 0, bench.clock.now_ms(), {}, 5
    )
    report = run(RealFiles(), request)
    assert report.clean_end == 5
    assert run(RealFiles(), request._replace(key_count_max=100)).clean_end == 30


def test_compact_and_delete(tmp_path: Path) -> None:
    bench = keyed(tmp_path, cleanup_delete=True, retention_ms=60_000)
    for n in range(20):
        put(bench, f"k{n}", "x" * 300)
    seal(bench)
    compact(bench)
    bench.clock.advance(120_000)
    put(bench, "new", "1")
    bench.settle()
    bench.engine.run_retention(bench.clock.now_ms())
    bench.settle()
    assert [key for _, key, _ in pairs(bench)] == ["new"]


class CrowdedFiles(FaultyFiles):
    """A disk on which something else takes the room."""

    free = 1 << 40

    def free_bytes(self, directory: Path) -> int:
        return self.free


@pytest.mark.parametrize(
    ("kind", "path"), [(Kind.WRITE, ".cleaned"), (Kind.SYNC, ".cleaned"), (Kind.CREATE, "00.cleaned"),
                       (Kind.RENAME, ".cleaned")]
)  # fmt: skip
def test_what_fails_is_cleared_away_and_tried_again(tmp_path: Path, kind: Kind, path: str) -> None:
    files = FaultyFiles(tmp_path)
    bench = keyed(tmp_path, files)
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    files.fail(kind, errno.ENOSPC, path=path)
    compact(bench)
    bench.engine.tick()
    bench.settle()
    assert len(pairs(bench)) == 40
    assert [line.partition(":")[0] for line in bench.engine.problems()["compaction"]] == ["keyed-0"]
    assert not [*tmp_path.rglob("*.cleaned"), *tmp_path.rglob("*.swap")]
    bench.clock.advance(PAUSE_MS)
    compact(bench)
    assert len(pairs(bench)) == 3
    assert bench.engine.problems()["compaction"] == []
    bench.engine.close()


def test_pauses_grow(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)
    bench = keyed(tmp_path, files)
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    files.fail(Kind.WRITE, errno.ENOSPC, path=".cleaned", times=1000)
    compact(bench)
    tries = []
    for second in range(100):
        before = len(files.changes)
        compact(bench)
        bench.clock.advance(960)
        if any(change.path.endswith(".cleaned") for change in files.changes[before:]):
            tries.append(second)
    assert len(tries) == 3
    assert tries[1] - tries[0] == pytest.approx(20, abs=2)
    assert tries[2] - tries[1] == pytest.approx(40, abs=3)
    bench.engine.close()


def test_no_more_is_begun_than_there_is_room_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = CrowdedFiles(tmp_path)
    files.free = 1000
    bench = keyed(tmp_path, files)
    for n in range(40):
        put(bench, f"k{n % 3}", f"v{n}" + "x" * 200)
    seal(bench)
    compact(bench)
    compact(bench)
    assert len(pairs(bench)) == 40
    (problem,) = bench.engine.problems()["compaction"]
    assert problem.startswith("keyed-0: ")
    assert "MiB needed" in problem
    assert len([record for record in caplog.records if "until there is room" in record.message]) == 1
    assert not any(change.path.endswith(".cleaned") for change in files.changes)
    files.free = 5000  # two segments of ten
    bench.clock.advance(bench.engine.settings.disk_check_interval_ms)
    bench.engine.tick()
    compact(bench)
    some = len(pairs(bench))
    assert 3 <= some < 40
    files.free = 1 << 40
    bench.clock.advance(bench.engine.settings.disk_check_interval_ms)
    compact(bench)
    compact(bench)
    assert len(pairs(bench)) == 3
    assert bench.engine.problems()["compaction"] == []
    bench.engine.close()


@pytest.mark.parametrize("lose_snapshots", [True, False])
def test_a_topic_that_was_compacted_once_may_have_holes(tmp_path: Path, lose_snapshots: bool) -> None:
    """Holes between segments, and inside them, are no damage after the policy was changed."""
    bench = keyed(tmp_path, segment_bytes=1500)
    for n in range(60):
        put(bench, f"u{n}" if n % 10 < 3 else "k", f"v{n}" + "x" * 200)
    seal(bench)
    compact(bench)
    before = pairs(bench)
    assert len(before) < 30
    bench.engine.close()
    if lose_snapshots:
        for path in tmp_path.rglob("*.snapshot"):
            path.unlink()
        (tmp_path / "clean").unlink()
    again = EngineBench(tmp_path)
    again.declare("keyed", TOPIC, segment_bytes=1500)
    again.start()
    assert pairs(again) == before
    assert the_log(again).state is LogState.ONLINE
    put(again, "new", "value")
    again.settle()
    assert len(pairs(again)) == len(before) + 1
    again.engine.close()
