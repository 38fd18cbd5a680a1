"""The power fails at every single change of a run, and nothing that was promised is missing afterwards.

A failure names the seed, the change and the mode; `CUT=seed:change:mode pytest tests/crash/test_power_cut.py -k replay`
plays just that one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from penstock.model.ids import PartitionId
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.segment import preallocation
from penstock.testing.faulty_files import Kind
from penstock.testing.power_cut import CutDisk, Mode
from tests.crash.workload import CONFIGS, TRANSACTIONAL, Diary, Workload
from tests.support.committed_reader import read_committed
from tests.support.engine_bench import EngineBench

CHANGE_COUNT = 900
QUICK_SEED = 7  # its run has everything in it: see check_coverage


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Thousands of small disks are written and thrown away: in memory, if there is a place for that."""
    shared = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield root
    shutil.rmtree(root)


@pytest.fixture(autouse=True)
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The segments of these runs are small, too."""
    monkeypatch.setattr(preallocation, "STEP_BYTES", 1500)


def recorded(scratch: Path, seed: int, flush: str = "always") -> Workload:
    workload = Workload(scratch / "run", seed, flush)
    workload.run(CHANGE_COUNT)
    return workload


def check_coverage(workload: Workload) -> None:
    """A run without compaction, retention, recovery points or a deleted topic would prove nothing about them."""
    changes = workload.files.changes
    counts = {
        "compacted segments": sum(change.target.endswith(".swap") for change in changes),
        "recovery points": sum(change.target.endswith(".snapshot") for change in changes),
        "deleted topics": sum(change.target.startswith("trash/") for change in changes),
        "expired segments": sum(change.kind is Kind.REMOVE and "/short/" in f"/{change.path}" for change in changes),
        "syncs of everything": sum(change.kind is Kind.SYNC_ALL for change in changes),
        "room at the end of segments": sum(
            change.kind is Kind.TRUNCATE and change.path.endswith(".log") and change.position > 0 for change in changes
        ),
        "syncs of one file": sum(change.kind is Kind.SYNC for change in changes),
        "aborted transactions": sum(change.target.endswith(".txnindex") for change in changes),
        "compacted transactions": sum(
            change.target.endswith(".swap") and "/ledger" in change.path for change in changes
        ),
    }
    assert all(counts.values()), counts


class Lost(AssertionError):
    """A promise was broken."""


def check_cuts(scratch: Path, seed: int, modes: list[Mode], *, flush: str = "always", only: int | None = None) -> int:
    """Cut at every change, with the modes in turn; returns the number of cuts."""
    workload = recorded(scratch, seed, flush)
    disk = CutDisk()
    for count, change in enumerate(workload.files.changes, start=1):
        disk.advance(change)
        if only in (None, count):
            mode = modes[count % len(modes)]
            image = scratch / "image"
            image.mkdir()
            disk.write_image(image, mode, Random(f"{seed}:{count}"))
            try:
                damaged = check_image(image, workload, count)
                if damaged and mode is not Mode.RANDOM:
                    raise Lost("damage where nothing can be torn")
            except Exception as error:
                raise Lost(f"CUT={seed}:{count}:{mode.value} after {change.kind} {change.path}: {error}") from error
            shutil.rmtree(image)
    return len(workload.files.changes)


def check_image(image: Path, workload: Workload, count: int) -> int:
    """Returns the number of damaged partitions."""
    if not (image / "meta.db").exists():
        return 0  # the power failed before the first promise could be given
    bench = EngineBench(image, clock=workload.bench.clock)
    known = {row.topic_id: row for row in bench.engine.metadata.topics.all()}
    for row in known.values():
        bench.declare(row.name, row.topic_id, row.partitions, **CONFIGS[row.name])
    bench.start()
    if bench.engine.orphans:
        raise Lost(f"nothing explains {bench.engine.orphans}")
    for partition, diary in workload.diaries.items():
        if partition.topic_id in known:
            check_partition(bench, partition, diary, count)
        elif diary.created < count and (diary.deleted is None or diary.deleted >= count):
            raise Lost(f"topic {diary.topic} is gone")
    bench.engine.close()
    return len(bench.engine.damaged)


def check_partition(bench: EngineBench, partition: PartitionId, diary: Diary, count: int) -> None:
    """A hole among unflushed batches with a whole batch after it looks like damage, and is reported as such: nobody
    can know that the hole was never promised. But what was promised can be read even then.
    """
    log = bench.engine.log(partition)
    name = f"{diary.topic}-{partition.partition}"
    if log.state is LogState.OFFLINE or (log.state is LogState.DAMAGED and partition not in bench.engine.damaged):
        raise Lost(f"{name} is {log.state.value}")
    end = diary.promised_end(count)
    if min(log.log_end, log.readable_end) < end:
        raise Lost(f"{name} ends at {log.log_end}, {end} was promised; {bench.engine.damaged.get(partition)}")
    if log.log_start < diary.promised_start(count):
        raise Lost(f"{name} starts at {log.log_start}, {diary.promised_start(count)} was promised")
    if log.log_start > log.log_end:
        raise Lost(f"{name} starts at {log.log_start} and ends at {log.log_end}")
    check_records(bench, partition, diary, end, name)
    if diary.topic in TRANSACTIONAL:
        check_transactions(log, diary, name)
    if log.state is LogState.DAMAGED:
        return
    check_producer(bench, partition, diary, log.log_end)
    appended = bench.append("after the cut", partition.partition, partition.topic_id)
    bench.settle()
    if log.settled != appended.base_offset + 1:
        raise Lost(f"{name} does not take new records")


def check_records(bench: EngineBench, partition: PartitionId, diary: Diary, promised_end: int, name: str) -> None:
    """Every record is the one that was written at its offset, and none is missing that compaction may not take."""
    log = bench.engine.log(partition)
    records = bench.records(partition.partition, partition.topic_id)
    for record in records:
        if record.offset >= len(diary.written):
            raise Lost(f"{name} has offset {record.offset}, which was never written")
        written = diary.written[record.offset]
        if (record.key, record.value) != (written.key, written.value):
            raise Lost(f"{name} has something else at offset {record.offset}")
    offsets = [record.offset for record in records]
    if diary.topic == "ledger":
        return  # see `check_transactions`
    if offsets != sorted(set(offsets)):
        raise Lost(f"{name} has offsets {offsets}")
    if diary.topic != "keyed":
        expected = [one for one in range(log.log_start, log.log_end) if diary.written[one].is_commit is None]
        if offsets != expected:
            raise Lost(f"{name} has offsets {offsets} of {log.log_start} to {log.log_end}")
        return
    latest = {written.key: offset for offset, written in enumerate(diary.written[:promised_end])}
    for key, offset in latest.items():
        found = [record.offset for record in records if record.key == key]
        if diary.written[offset].value is not None and not any(other >= offset for other in found):
            raise Lost(f"{name} has lost the last value of {key!r}, at offset {offset}")
        if diary.written[offset].value is None and any(other < offset for other in found) and offset not in found:
            raise Lost(f"{name} has an old value of {key!r}, which was deleted at offset {offset}")


def check_transactions(log: DiskLog, diary: Diary, name: str) -> None:
    """The rest of the log decides: no aborted or open record is shown, and no committed one is missing."""
    end = min(log.log_end, log.readable_end)
    stable = max(diary.undecided_start(end), log.log_start)
    if log.state is LogState.ONLINE and log.last_stable != stable:
        raise Lost(f"{name} is stable to {log.last_stable} instead of {stable}")
    stable = min(log.last_stable, end)
    committed = [offset for offset in diary.committed(end) if log.log_start <= offset < stable]
    shown = [record.offset for record in read_committed(log, end=stable)]
    if diary.topic == "deals" and shown != committed:
        raise Lost(f"{name} shows {shown} of the committed {committed}")
    if not set(shown) <= set(committed):
        raise Lost(f"{name} shows {sorted(set(shown) - set(committed))}, which were not committed")
    latest = {diary.written[offset].key: offset for offset in committed}
    if not set(latest.values()) <= set(shown):
        raise Lost(f"{name} has lost the last committed value of a key: {latest}, shown are {shown}")


def check_producer(bench: EngineBench, partition: PartitionId, diary: Diary, log_end: int) -> None:
    """The last batch sent again is recognised; the next one is taken."""
    if diary.topic != "plain" or log_end == 0:
        return
    last = diary.written[log_end - 1]
    again = bench.append(last.value, partition.partition, partition.topic_id, last.key, last.producer)
    if not again.duplicate or again.base_offset != log_end - 1:
        raise Lost(f"{diary.topic}: a batch sent again was written again: {again}")


@pytest.mark.crash
@pytest.mark.feature("P-05", "X-01", "X-02")
def test_nothing_promised_is_lost_at_any_change(scratch: Path) -> None:
    assert check_cuts(scratch, QUICK_SEED, [Mode.RANDOM, Mode.NOTHING]) >= 500


@pytest.mark.crash
@pytest.mark.feature("P-05")
def test_a_kill_loses_nothing_at_any_change(scratch: Path) -> None:
    """Everything written is kept, as after kill -9; every tenth change is enough, the page cache is no adversary."""
    workload = recorded(scratch, QUICK_SEED)
    check_coverage(workload)
    disk = CutDisk()
    for count, change in enumerate(workload.files.changes, start=1):
        disk.advance(change)
        if count % 10 == 0:
            image = scratch / "image"
            image.mkdir()
            disk.write_image(image, Mode.EVERYTHING, Random(0))
            assert check_image(image, workload, count) == 0
            shutil.rmtree(image)


@pytest.mark.crash
def test_the_check_sees_loss_when_nothing_is_synced(scratch: Path) -> None:
    """The same run with `flush: os` must fail, or the tests above would prove nothing."""
    with pytest.raises(Lost, match="was promised"):
        check_cuts(scratch, QUICK_SEED, [Mode.NOTHING, Mode.RANDOM], flush="os")


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(11, 19))
def test_many_runs(scratch: Path, seed: int) -> None:
    modes = [Mode.RANDOM] * 3 + [Mode.NOTHING]
    check_cuts(scratch, seed, modes[seed % 2 :] + modes[: seed % 2])


@pytest.mark.skipif("CUT" not in os.environ, reason="CUT=seed:change:mode is not set")
def test_replay(scratch: Path) -> None:
    seed, change, mode = os.environ["CUT"].split(":")
    check_cuts(scratch, int(seed), [Mode(mode)], only=int(change))
