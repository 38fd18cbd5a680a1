"""Compaction's output that is not what was written, found under its swap name after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.model.batch import iter_headers
from penstock.model.errors import KafkaError
from penstock.runtime.files import RealFiles
from penstock.storage import layout
from penstock.storage.checkpoint.snapshot import rewrite_segments
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.recovery.recovery import recover
from penstock.storage.recovery.repair import repair_log
from penstock.storage.recovery.tail_recovery import tail_bytes
from penstock.storage.recovery.verify import verify_log
from tests.unit.storage.log_rig import NOW, Rig, values_of

pytestmark = pytest.mark.feature("P-05")

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100, cleanup_compact=True)
VALUES = [b"value %d" % index for index in range(20)]
FILES = RealFiles()


def torn(data: bytes) -> bytes:
    return data[:-10]


def flipped(data: bytes) -> bytes:
    return data[:-10] + bytes([data[-10] ^ 1]) + data[-9:]


def zeros_after(data: bytes) -> bytes:
    """As a file system may show pages that never reached the disk."""
    last = list(iter_headers(data))[-1][0]
    return data[:last] + bytes(len(data) - last)


class Swapped(Rig):
    """A log whose first `count` segments were about to be replaced by all but their first batch when it was killed."""

    def __init__(self, root: Path, count: int, harm: Callable[[bytes], bytes], *, noted: bool) -> None:
        super().__init__(root, CONFIG)
        for value in VALUES:
            self.append(value)
        self.checkpoint()
        old = self.log.segments[:count]
        self.old_paths = [segment.path for segment in old]
        data = b"".join(path.read_bytes() for path in self.old_paths)
        kept = data[list(iter_headers(data))[1][0] :]
        self.end_offset = old[-1].end_offset
        self.swap = layout.swap_path(self.directory, 0, self.end_offset)
        self.swap.write_bytes(harm(kept))
        if noted:
            entry = old[0].entry()._replace(end_offset=self.end_offset, size=len(kept))
            rest = [segment.entry() for segment in self.log.segments[count:]]
            rewrite_segments(FILES, self.directory, self.log.snapshot_end, [entry, *rest])
        self.kill()


@pytest.mark.parametrize("harm", [torn, flipped, zeros_after])
@pytest.mark.parametrize("noted", [False, True], ids=["not noted", "noted"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_broken_swap_goes_and_the_old_segments_stay(
    tmp_path: Path, count: int, noted: bool, harm: Callable[[bytes], bytes]
) -> None:
    rig = Swapped(tmp_path, count, harm, noted=noted)
    found = recover(FILES, rig.directory, log_start=0, now_ms=NOW, compacted=True)
    assert [note for note in found.notes if rig.swap.name in note and "removed" in note]
    assert not rig.swap.exists()
    for clean in (False, True):
        rig.reopen(clean=clean)
        assert rig.log.state is LogState.ONLINE
        assert values_of(rig.log) == VALUES
        assert rig.log.segment_count == len(rig.names(".log"))


@pytest.mark.parametrize("noted", [False, True], ids=["not noted", "noted"])
def test_a_sound_one_is_finished(tmp_path: Path, noted: bool) -> None:
    rig = Swapped(tmp_path, 2, bytes, noted=noted)
    rig.open()
    assert values_of(rig.log) == VALUES[1:]
    assert not rig.old_paths[1].exists()


@pytest.mark.parametrize("harm", [torn, flipped])
def test_a_broken_one_without_the_old_segments_is_damage(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    """The segments that it replaces are gone already: the rest must not be taken for the whole log."""
    rig = Swapped(tmp_path, 2, harm, noted=True)
    rig.old_paths[1].unlink()
    rig.open()
    if harm is flipped:
        assert rig.log.state is LogState.ONLINE
        with pytest.raises(KafkaError, match="damaged"):
            values_of(rig.log)
    assert rig.log.state is LogState.DAMAGED
    rig.kill()
    repair_log(FILES, rig.directory, now_ms=NOW, log_start=0, compacted=True)
    assert verify_log(FILES, rig.directory, log_start=0, compacted=True).is_sound
    rig.open()
    assert values_of(rig.log) == [*VALUES[1 : rig.end_offset - 1], *VALUES[rig.end_offset :]]


def test_checking_it_is_work_for_the_worker(tmp_path: Path) -> None:
    rig = Swapped(tmp_path, 2, bytes, noted=False)
    assert tail_bytes(FILES, rig.directory) >= rig.swap.stat().st_size
