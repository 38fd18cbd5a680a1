"""Recovery of a log after a crash: torn tails, zeros, flipped bits, missing files, half-done swaps."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from penstock.broker.coordination.look_alikes import without_look_alikes
from penstock.model.batch import iter_headers, read_header
from penstock.model.batch_builder import assemble_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import RealFiles
from penstock.storage import layout
from penstock.storage.compaction.swap import SegmentSwap
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.recovery.recovery import LongScan, recover
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.segment_entry import SegmentEntry
from tests.unit.storage.log_rig import NOW, Rig, make_batch, put, read_all, values_of

pytestmark = pytest.mark.feature("P-05")

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100)


def filled(tmp_path: Path, count: int = 20, config: LogConfig = CONFIG) -> Rig:
    rig = Rig(tmp_path, config)
    for index in range(count):
        rig.append(b"value %d" % index)
    return rig


def expected(count: int) -> list[bytes]:
    return [b"value %d" % index for index in range(count)]


def add_bytes(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def last_batch(path: Path) -> int:
    return last_batch_of(path.read_bytes())


def last_batch_of(data: bytes) -> int:
    return list(iter_headers(data))[-1][0]


def append_stored(rig: Rig, value: bytes) -> None:
    """Append as coordinators do."""
    batch = without_look_alikes(make_batch(value))
    rig.log.append_trusted(batch, read_header(batch), NOW)
    rig.flush()


@pytest.mark.parametrize("clean", [True, False])
def test_everything_is_there_again(tmp_path: Path, clean: bool) -> None:
    rig = filled(tmp_path)
    for _ in range(3):
        rig.reopen(clean=clean)
        assert values_of(rig.log) == expected(20)
        assert rig.log.flushed == rig.log.log_end == 20
    assert rig.append(b"next").base_offset == 20


def test_a_clean_stop_leaves_nothing_to_scan(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.close()
    found = recover(rig.files, rig.directory, log_start=0, now_ms=NOW)
    assert (found.scanned_bytes, found.log_end, found.damage) == (0, 20, None)


def test_a_checkpoint_bounds_the_scan(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    rig.append(b"value 20")
    rig.kill()
    found = recover(rig.files, rig.directory, log_start=0, now_ms=NOW)
    assert found.scanned_bytes == len(make_batch(b"value 20"))
    assert found.log_end == 21


def test_a_long_scan_is_refused_and_its_result_can_travel(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.kill()
    with pytest.raises(LongScan):
        recover(rig.files, rig.directory, log_start=0, now_ms=NOW, scan_bytes_max=100)
    found = pickle.loads(pickle.dumps(recover(RealFiles(), rig.directory, log_start=0, now_ms=NOW)))
    assert [segment.entry() for segment in found.segments] == [segment.entry() for segment in rig.log.segments]


TAILS: dict[str, Callable[[], bytes]] = {
    "half a batch": lambda: bytes(make_batch(b"torn", base_offset=20))[:40],
    "a batch but for its last byte": lambda: bytes(make_batch(b"torn", base_offset=20))[:-1],
    "few zeros": lambda: bytes(10),
    "many zeros": lambda: bytes(100_000),
    "noise": lambda: os.urandom(5000),
    "a batch of the past": lambda: bytes(make_batch(b"old", base_offset=3)),
    "a batch with a wrong CRC": lambda: bytes(make_batch(b"torn", base_offset=20))[:-3] + b"\xff\xff\xff",
    "half a batch, then zeros": lambda: bytes(make_batch(b"torn", base_offset=20))[:50] + bytes(5000),
}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_torn_tail_is_cut_and_kept(tmp_path: Path, tail: str, checkpointed: bool) -> None:
    rig = filled(tmp_path)
    if checkpointed:
        rig.checkpoint()
    rig.kill()
    junk = TAILS[tail]()
    path = rig.segment_file()
    size = path.stat().st_size
    add_bytes(path, junk)
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert path.stat().st_size == size
    assert values_of(rig.log) == expected(20)
    kept = junk.rstrip(b"\x00")
    assert [(rig.directory / name).read_bytes() for name in rig.names(".cut")] == ([kept] if kept else [])
    assert rig.append(b"value 20").base_offset == 20
    rig.reopen(clean=False)
    assert values_of(rig.log) == expected(21)


def test_the_last_batch_torn_anywhere(tmp_path: Path) -> None:
    rig = filled(tmp_path, 3)
    rig.kill()
    path = rig.segment_file()
    whole = path.read_bytes()
    for size in range(last_batch(path), len(whole)):
        path.write_bytes(whole[:size])
        found = recover(rig.files, rig.directory, log_start=0, now_ms=NOW)
        assert (found.log_end, found.damage) == (2, None)


@pytest.mark.feature("P-04")
def test_damage_before_valid_batches_is_never_cut(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.kill()
    path = rig.segment_file(1)
    first = rig.log.segments[1].base_offset
    before = path.read_bytes()
    flip(path, 70)
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert rig.log.log_end == first
    assert values_of(rig.log) == expected(first)
    with pytest.raises(KafkaError) as raised:
        put(rig.log, b"refused")
    assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaError) as raised:
        read_all(rig.log, first + 1)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    rig.close()
    assert len(path.read_bytes()) == len(before)
    assert not rig.names(".cut")


def tear_first_bytes(path: Path, count: int = 61) -> None:
    """The last batch as a power cut may leave it: its first sectors are not there, the others are."""
    data = bytearray(path.read_bytes())
    position = last_batch(path)
    data[position : position + count] = bytes(count)
    path.write_bytes(data)


@pytest.mark.feature("P-04")
@pytest.mark.parametrize("base_offset", [20, 1 << 20])
@pytest.mark.parametrize("zeros", [0, 100_000])
def test_a_batch_inside_a_torn_one_is_not_told_from_one_that_follows(
    tmp_path: Path, base_offset: int, zeros: int
) -> None:
    """Both may be the same bytes. What may have been acknowledged is never cut."""
    rig = filled(tmp_path)
    rig.append(bytes(make_batch(b"inside", base_offset=base_offset)))
    rig.kill()
    path = rig.segment_file()
    tear_first_bytes(path)
    add_bytes(path, bytes(zeros))
    before = path.read_bytes()
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert values_of(rig.log) == expected(20)
    rig.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("zeros", [0, 100_000])
def test_a_torn_batch_of_a_coordinator_is_cut_whatever_a_member_put_into_it(tmp_path: Path, zeros: int) -> None:
    rig = filled(tmp_path)
    append_stored(rig, bytes(make_batch(b"inside", base_offset=1 << 20)))
    rig.kill()
    path = rig.segment_file()
    position = last_batch(path)
    tear_first_bytes(path)
    add_bytes(path, bytes(zeros))
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert path.stat().st_size == position
    assert values_of(rig.log) == expected(20)
    assert rig.append(b"value 20").base_offset == 20
    rig.reopen(clean=False)
    assert values_of(rig.log) == expected(21)


@pytest.mark.feature("P-04")
def test_a_damaged_batch_of_a_coordinator_before_one_that_was_acknowledged(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    append_stored(rig, bytes(make_batch(b"inside", base_offset=1 << 20)))
    path = rig.segment_file()
    data = path.read_bytes()
    rig.append(b"value 21")
    rig.kill()
    whole = bytearray(path.read_bytes())
    at = last_batch_of(data)
    whole[at : at + 61] = bytes(61)
    path.write_bytes(whole)
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert values_of(rig.log) == expected(20)
    rig.close()
    assert path.read_bytes() == whole


def test_what_was_synced_and_is_gone_is_damage(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.close()
    path = rig.segment_file()
    os.truncate(path, last_batch(path))
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert values_of(rig.log) == expected(19)


@pytest.mark.parametrize("index", [0, 1, -1])
def test_a_missing_segment_is_damage(tmp_path: Path, index: int) -> None:
    rig = filled(tmp_path)
    base = rig.log.segments[index].base_offset
    rig.close()
    rig.segment_file(index).unlink()
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert values_of(rig.log) == expected(base)


def test_a_missing_middle_segment_without_a_snapshot_is_damage(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    base = rig.log.segments[1].base_offset
    rig.kill()
    rig.segment_file(1).unlink()
    rig.open()
    assert rig.log.state is LogState.DAMAGED
    assert values_of(rig.log) == expected(base)


def test_an_empty_new_segment_after_a_torn_one_goes_with_the_tail(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.log.roll()
    rig.kill()
    old = rig.segment_file(-2)
    os.truncate(old, last_batch(old) + 10)
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert values_of(rig.log) == expected(19)
    assert rig.append(b"value 19").base_offset == 19
    rig.reopen(clean=False)
    assert values_of(rig.log) == expected(20)


@pytest.mark.feature("P-03")
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("harm", ["delete", "flip", "truncate", "none"])
def test_index_files_are_derived(tmp_path: Path, clean: bool, harm: str) -> None:
    rig = filled(tmp_path, 1000, LogConfig(segment_bytes=40_000, index_interval_bytes=200))
    rig.checkpoint()
    assert rig.names(".index")
    assert rig.names(".timeindex")
    rig.close() if clean else rig.kill()
    for name in rig.names(".index") + rig.names(".timeindex"):
        path = rig.directory / name
        if harm == "delete":
            path.unlink()
        elif harm == "flip":
            flip(path, path.stat().st_size // 2)
        elif harm == "truncate":
            os.truncate(path, path.stat().st_size - 5)
    rig.open()
    for offset in (0, 1, 500, 777, 999):
        assert values_of(rig.log, offset)[0] == b"value %d" % offset
    assert values_of(rig.log) == expected(1000)


@pytest.mark.parametrize("harm", ["delete", "flip", "truncate"])
def test_snapshots_that_are_lost_cost_a_scan(tmp_path: Path, harm: str) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    rig.append(b"value 20")
    rig.close()
    for name in rig.names(".snapshot"):
        path = rig.directory / name
        if harm == "delete":
            path.unlink()
        elif harm == "flip":
            flip(path, 30)
        else:
            os.truncate(path, 20)
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert values_of(rig.log) == expected(21)


def test_an_older_snapshot_still_serves(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    rig.append(b"value 20")
    rig.close()
    newest = rig.names(".snapshot")[-1]
    flip(rig.directory / newest, 40)
    rig.open()
    assert values_of(rig.log) == expected(21)


def test_halves_are_removed(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.kill()
    for name in ("00000000000000000020.snapshot.tmp", "00000000000000000000.cleaned"):
        (rig.directory / name).write_bytes(b"half")
    rig.open()
    assert not rig.names(".tmp")
    assert not rig.names(".cleaned")
    assert values_of(rig.log) == expected(20)


def put_in_place(log: DiskLog, replaced: Sequence[Segment], cleaned: Path, kept: SegmentEntry) -> None:
    """The view of readers changes at the end of a swap, not with the files."""
    before = values_of(log)
    swap = SegmentSwap(log, replaced, cleaned, kept)
    assert values_of(log) == before
    swap.write()
    assert values_of(log) == before
    swap.finish()
    swap.let_go()


@pytest.mark.parametrize("stopped_after", ["the swap file", "a removal", "everything"])
def test_compaction_is_finished_by_whoever_finds_its_swap_file(tmp_path: Path, stopped_after: str) -> None:
    """Two sealed segments become one that holds their first batches only."""
    rig = filled(tmp_path, config=LogConfig(segment_bytes=600, index_interval_bytes=100, cleanup_compact=True))
    rig.checkpoint()
    first, second = rig.log.segments[:2]
    kept = first.path.read_bytes()[: read_header(first.path.read_bytes()).size_bytes]
    swap = layout.swap_path(rig.directory, first.base_offset, second.end_offset)
    if stopped_after == "everything":
        cleaned = layout.cleaned_path(rig.directory, first.base_offset)
        cleaned.write_bytes(kept)
        entry = first.entry()._replace(end_offset=second.end_offset, size=len(kept))
        put_in_place(rig.log, [first, second], cleaned, entry)
    else:
        swap.write_bytes(kept)
        if stopped_after == "a removal":
            second.path.unlink()
    rest = [b"value 0", *expected(20)[second.end_offset :]]
    if stopped_after == "everything":
        assert values_of(rig.log) == rest
    for clean in (False, True, False):
        rig.reopen(clean=clean)
        assert rig.log.state is LogState.ONLINE
        assert values_of(rig.log) == rest
        assert not rig.names(".swap")
        assert len(rig.names(".log")) == rig.log.segment_count


def test_the_largest_timestamp_after_compaction_emptied_its_batch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, LogConfig(index_interval_bytes=100, cleanup_compact=True))
    for timestamp in (NOW, NOW + 500, NOW + 100):
        rig.append(b"x", timestamp=timestamp)
    rig.log.roll()
    rig.append(b"active", timestamp=NOW + 50)
    rig.checkpoint()
    assert rig.log.find_max_timestamp(end=4) == (NOW + 500, 1, 0)
    first = rig.log.segments[0]
    data = first.path.read_bytes()
    batches = [(header, data[at : at + header.size_bytes]) for at, header in iter_headers(data)]
    emptied = assemble_batch(batches[1][0]._replace(record_count=0), b"")
    cleaned = layout.cleaned_path(rig.directory, 0)
    cleaned.write_bytes(batches[0][1] + emptied + batches[2][1])
    put_in_place(rig.log, [first], cleaned, first.entry()._replace(size=cleaned.stat().st_size))
    assert rig.log.find_max_timestamp(end=4) == (NOW + 100, 2, 0)
    found = rig.log.find_timestamp(NOW + 10, end=4)
    assert found is not None
    assert found.offset == 2
    assert len(read_all(rig.log)) == 3


def test_leader_epochs_come_back_from_the_batches(tmp_path: Path) -> None:
    rig = filled(tmp_path, 3)
    for _ in range(3):
        rig.reopen(clean=False)
        rig.append(b"one more")
    for name in rig.names(".snapshot"):
        (rig.directory / name).unlink()
    rig.reopen(clean=False)
    assert [rig.log.epoch_at(offset) for offset in range(6)] == [0, 0, 0, 1, 2, 3]
    assert [rig.log.epoch_end(epoch) for epoch in range(6)] == [(0, 3), (1, 4), (2, 5), (3, 6), (4, 6), (-1, -1)]
