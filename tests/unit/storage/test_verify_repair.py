"""`verify` says what is wrong and changes nothing; `repair` settles it and says which offsets are lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.model.batch import iter_headers
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.recovery.repair import repair_log
from penstock.storage.recovery.verify import verify_log
from tests.unit.storage.log_rig import NOW, Rig, put_idempotent, values_of


def filled(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path, LogConfig(segment_bytes=600, index_interval_bytes=100))
    for index in range(20):
        put_idempotent(rig.log, index, b"value %d" % index)
    rig.close()
    return rig


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def tree(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_sound_log(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    before = tree(rig.directory)
    report = verify_log(rig.files, rig.directory, log_start=0)
    assert report.is_sound
    assert (report.batches, report.records, report.log_end) == (20, 20, 20)
    assert report.repair_steps == []
    assert repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0).is_sound
    assert tree(rig.directory) == before


@pytest.mark.parametrize("segment", [0, 1, -1])
def test_a_flipped_bit(tmp_path: Path, segment: int) -> None:
    rig = filled(tmp_path)
    path = rig.segment_file(segment)
    position, header = list(iter_headers(path.read_bytes()))[1]
    flip(path, position + 65)
    before = tree(rig.directory)
    report = verify_log(rig.files, rig.directory, log_start=0)
    assert tree(rig.directory) == before
    lost = header.base_offset
    assert report.lost == [(lost, lost + 1)]
    assert "CRC" in report.bad[0].describe()
    repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    assert len(rig.names(".damaged")) == 1
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert values_of(rig.log) == [b"value %d" % index for index in range(20) if index != lost]
    assert put_idempotent(rig.log, 19, b"value 19").duplicate
    assert put_idempotent(rig.log, 20, b"value 20").base_offset == 20
    rig.flush()
    rig.reopen(clean=False)
    assert values_of(rig.log)[-1] == b"value 20"
    assert rig.log.state is LogState.ONLINE


@pytest.mark.parametrize("segment", [0, 1, -1])
def test_a_missing_segment(tmp_path: Path, segment: int) -> None:
    rig = filled(tmp_path)
    gone = rig.log.segments[segment]
    rig.segment_file(segment).unlink()
    report = verify_log(rig.files, rig.directory, log_start=0)
    assert report.lost == [(gone.base_offset, gone.end_offset)]
    repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    rig.open()
    assert rig.log.state is LogState.ONLINE
    left = [index for index in range(20) if not gone.base_offset <= index < gone.end_offset]
    assert values_of(rig.log) == [b"value %d" % index for index in left]
    assert put_idempotent(rig.log, 20, b"value 20").base_offset == 20, "lost offsets are not used again"


def test_a_tail_that_was_synced_and_is_cut_off(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    path = rig.segment_file()
    os.truncate(path, list(iter_headers(path.read_bytes()))[-1][0] + 20)
    report = repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    assert report.lost == [(19, 20)]
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert values_of(rig.log) == [b"value %d" % index for index in range(19)]
    assert put_idempotent(rig.log, 20, b"value 20").base_offset == 20


@pytest.mark.parametrize("byte", [3, 7, 9, 11])
def test_a_changed_offset_or_length(tmp_path: Path, byte: int) -> None:
    """Outside the CRC: seen because batches follow one another."""
    rig = filled(tmp_path)
    path = rig.segment_file(0)
    position, header = list(iter_headers(path.read_bytes()))[1]
    flip(path, position + byte)
    report = verify_log(rig.files, rig.directory, log_start=0)
    assert report.lost == [(header.base_offset, header.base_offset + 1)]
    repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    rig.open()
    assert rig.log.state is LogState.ONLINE
    assert values_of(rig.log) == [b"value %d" % index for index in range(20) if index != header.base_offset]


def test_a_segment_without_its_last_batch(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    path = rig.segment_file(0)
    *_, (position, header) = iter_headers(path.read_bytes())
    os.truncate(path, position)
    report = verify_log(rig.files, rig.directory, log_start=0)
    assert report.bad == []
    assert report.missing == [(header.base_offset, header.base_offset + 1)]
    repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    rig.open()
    assert values_of(rig.log) == [b"value %d" % index for index in range(20) if index != header.base_offset]
