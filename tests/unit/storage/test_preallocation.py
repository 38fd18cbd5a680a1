"""Preallocation at the end of a segment: made for small batches, cut off by rolls, stops and recovery."""

from pathlib import Path

import pytest

from penstock.model.errors import KafkaError
from penstock.runtime.files import RealFiles
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.recovery.verify import verify_log
from penstock.storage.segment import preallocation
from tests.support.full_disk import files_of_at_most
from tests.unit.storage.log_rig import Rig, put, read_all

STEP = 4096
VALUE = b"v" * 400


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocation, "STEP_BYTES", STEP)
    monkeypatch.setattr(preallocation, "SYNC_BYTES_MAX", 1000)


def filled(rig: Rig, count: int) -> None:
    for _ in range(count):
        rig.append(VALUE)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path, LogConfig(segment_bytes=1 << 20))


def test_small_segments_get_none_and_large_syncs_neither(rig: Rig) -> None:
    filled(rig, 5)
    assert rig.segment_file().stat().st_size == rig.log.size_bytes
    filled(rig, 10)
    assert rig.segment_file().stat().st_size > rig.log.size_bytes
    for _ in range(30):
        rig.append(b"w" * 2000)
    assert rig.segment_file().stat().st_size == rig.log.size_bytes
    filled(rig, 30)  # syncs are small again
    assert rig.segment_file().stat().st_size > rig.log.size_bytes


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_finds_every_record_and_no_damage(rig: Rig, clean: bool) -> None:
    filled(rig, 40)
    assert rig.segment_file().stat().st_size > rig.log.size_bytes
    rig.reopen(clean=clean)
    assert rig.log.state is LogState.ONLINE
    assert rig.log.log_end == 40
    assert rig.segment_file().stat().st_size == rig.log.size_bytes
    assert not list(rig.directory.glob("*.cut"))
    filled(rig, 40)
    assert [record.offset for record in read_all(rig.log)] == list(range(80))


def test_what_was_torn_in_the_room_is_cut_and_kept(rig: Rig) -> None:
    filled(rig, 40)
    size = rig.log.size_bytes
    with rig.segment_file().open("r+b") as file:
        file.seek(size + 100)
        file.write(b"half of a sector")
    rig.reopen(clean=False)
    assert (rig.log.state, rig.log.log_end, rig.log.size_bytes) == (LogState.ONLINE, 40, size)
    assert len(list(rig.directory.glob("*.cut"))) == 1


def test_a_sealed_segment_has_none(tmp_path: Path) -> None:
    rig = Rig(tmp_path, LogConfig(segment_bytes=20_000))
    filled(rig, 100)
    sizes = [path.stat().st_size for path in sorted(rig.directory.glob("*.log"))]
    assert sizes[:-1] == [segment.size for segment in rig.log.segments[:-1]]
    assert len(sizes) > 2


def test_room_that_was_left_in_a_sealed_segment_harms_nothing(tmp_path: Path) -> None:
    """The power may fail after a new segment was begun and before the old one's end is known."""
    rig = Rig(tmp_path, LogConfig(segment_bytes=20_000))
    filled(rig, 60)
    rig.kill()
    sealed = rig.segment_file(-2)
    with sealed.open("r+b") as file:
        file.truncate(sealed.stat().st_size + STEP)
    rig.open()
    assert (rig.log.state, rig.log.log_end) == (LogState.ONLINE, 60)
    assert [record.offset for record in read_all(rig.log)] == list(range(60))


def test_more_zeros_than_room_may_have_are_reported(rig: Rig) -> None:
    filled(rig, 40)
    size = rig.log.size_bytes
    rig.kill()
    with rig.segment_file().open("r+b") as file:
        file.truncate(size + STEP + 1)
    report = verify_log(RealFiles(), rig.directory)
    assert not report.is_sound
    with rig.segment_file().open("r+b") as file:
        file.truncate(size + STEP)
    report = verify_log(RealFiles(), rig.directory)
    assert report.is_sound
    assert report.records == 40


def test_zeros_where_records_were_are_damage(rig: Rig) -> None:
    filled(rig, 40)
    rig.reopen(clean=True)
    size = rig.log.size_bytes
    rig.kill()
    with rig.segment_file().open("r+b") as file:
        file.seek(size - 1000)
        file.write(bytes(1000))
    report = verify_log(RealFiles(), rig.directory)
    assert not report.is_sound
    rig.open()
    with pytest.raises(KafkaError, match="damaged at offset 37"):
        read_all(rig.log)


def test_a_disk_without_room_for_it_goes_on(rig: Rig) -> None:
    filled(rig, 9)
    assert STEP < rig.log.size_bytes == rig.segment_file().stat().st_size
    with files_of_at_most(rig.log.size_bytes + STEP - 1):
        filled(rig, 4)
        assert rig.segment_file().stat().st_size == rig.log.size_bytes
    put(rig.log, VALUE)
    rig.reopen(clean=True)
    assert rig.log.log_end == 14
    assert [record.offset for record in read_all(rig.log)] == list(range(14))
