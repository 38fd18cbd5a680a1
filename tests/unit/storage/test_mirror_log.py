"""A mirror's log: another log's batches as they are there, with holes, transactions and epochs, over restarts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.model.batch import read_header, stamp
from penstock.model.control_record import Marker, build_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.interface import Log, LogConfig, LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.log import MemoryLog
from penstock.storage.recovery.verify import verify_log
from tests.unit.storage.log_rig import NOW, PARTITION, Rig, make_batch, read_all, values_of

pytestmark = pytest.mark.feature("P-12")


def mirror(log: Log, base_offset: int, *values: bytes, epoch: int = 0, **overrides: int) -> bytearray:
    batch = make_batch(*values, **overrides)
    stamp(batch, base_offset, epoch)
    log.append_mirrored(batch, read_header(batch), NOW)
    return batch


def end_transaction(log: Log, offset: int, producer_id: int, *, commit: bool) -> None:
    batch = build_marker(Marker(producer_id, 0, 0, commit), NOW)
    stamp(batch, offset, 0)
    log.append_mirrored(batch, read_header(batch), NOW)


class MirrorRig(Rig):
    """A mirror has no leader epoch of its own, whatever the number of its starts."""

    def open(self, *, now_ms: int = NOW) -> DiskLog:
        self.epoch = -2
        return super().open(now_ms=now_ms)


class AtOnce:
    """Everything that is appended is visible."""

    def mark(self, log: MemoryLog, size_bytes: int) -> None:
        log.show_all()


def in_memory() -> MemoryLog:
    return MemoryLog("t", PARTITION, LogConfig(), -1, MemoryBudget(1 << 30), AtOnce())


@pytest.fixture(params=["disk", "memory"])
def rig_log(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Log, Callable[[], None]]:
    if request.param == "memory":
        return in_memory(), lambda: None
    rig = MirrorRig(tmp_path)
    return rig.log, rig.flush


def test_offsets_epochs_and_bytes_are_those_of_the_other_log(rig_log: tuple[Log, Callable[[], None]]) -> None:
    log, flush = rig_log
    first = mirror(log, 0, b"a", b"b", epoch=3)
    second = mirror(log, 2, b"c", epoch=5)
    flush()
    found = log.read(0, 1 << 20, end=log.flushed, one_batch_at_least=True, wait=True)
    assert bytes(found.records) == bytes(first + second)
    assert (log.epoch_at(1), log.epoch_at(2), log.epoch_end(3)) == (3, 5, (3, 2))


def test_holes_of_a_compacted_log(rig_log: tuple[Log, Callable[[], None]]) -> None:
    log, flush = rig_log
    mirror(log, 4, b"a")
    mirror(log, 9, b"b")
    flush()
    assert [record.offset for record in read_all(log, 0)] == [4, 9]
    assert [record.offset for record in read_all(log, 6)] == [9]
    with pytest.raises(KafkaError) as refused:
        mirror(log, 9, b"again")
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert log.log_end == 10


def test_transactions_decide_as_they_do_there(rig_log: tuple[Log, Callable[[], None]]) -> None:
    log, flush = rig_log
    transaction = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    mirror(log, 0, b"a", base_sequence=0, **transaction)
    flush()
    assert (log.stable_end(log.flushed), log.flushed) == (0, 1)
    end_transaction(log, 1, 7, commit=False)
    mirror(log, 2, b"b", base_sequence=1, **transaction)
    flush()
    assert log.stable_end(log.flushed) == 2
    assert [each.producer_id for each in log.aborted_transactions(0, 3, wait=True)] == [7]
    assert [each.first_offset for each in log.open_transactions()] == [2]


@pytest.mark.parametrize("clean", [True, False])
def test_holes_and_epochs_survive_a_restart(tmp_path: Path, clean: bool) -> None:
    rig = MirrorRig(tmp_path, LogConfig(segment_bytes=200))
    for offset in (0, 7, 8, 30, 31, 99):
        mirror(rig.log, offset, b"x" * 80, epoch=offset)
        rig.flush()
    rig.checkpoint()
    mirror(rig.log, 120, b"y", epoch=120)
    mirror(rig.log, 140, b"z" * 150, epoch=140)
    rig.flush()
    log = rig.reopen(clean=clean)
    assert log.state is LogState.ONLINE
    assert [record.offset for record in read_all(log)] == [0, 7, 8, 30, 31, 99, 120, 140]
    assert (log.log_end, log.epoch_at(121), log.epoch_at(140)) == (141, 120, 140)
    mirror(log, 150, b"more", epoch=141)
    rig.flush()
    assert read_all(log, 141)[0].offset == 150
    assert verify_log(rig.files, rig.directory, log_start=0).is_sound


@pytest.mark.parametrize("clean", [True, False])
def test_beginning_again_further_on_forgets_what_was_undecided(tmp_path: Path, clean: bool) -> None:
    rig = MirrorRig(tmp_path)
    mirror(rig.log, 0, b"a", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    rig.flush()
    rig.checkpoint()
    rig.journal.set_log_start(PARTITION, 50)
    rig.log.restart_at(50)
    assert (rig.log.log_start, rig.log.log_end, rig.log.stable_end(rig.log.flushed)) == (50, 50, 50)
    log = rig.reopen(clean=clean)
    assert (log.log_start, log.log_end, log.stable_end(log.flushed)) == (50, 50, 50)
    mirror(log, 50, b"b")
    rig.flush()
    log = rig.reopen(clean=clean)
    assert (values_of(log), log.stable_end(log.flushed), log.log_end) == ([b"b"], 51, 51)


def test_a_process_killed_while_it_forgets_goes_on_where_it_meant_to(tmp_path: Path) -> None:
    rig = MirrorRig(tmp_path)
    mirror(rig.log, 0, b"a")
    rig.flush()
    rig.journal.set_log_start(PARTITION, 50)  # and nothing else was done
    log = rig.reopen(clean=False)
    assert (log.log_start, log.log_end) == (50, 50)
    mirror(log, 50, b"b")
    rig.flush()
    assert values_of(log) == [b"b"]
