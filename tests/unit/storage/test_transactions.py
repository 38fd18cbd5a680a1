"""Transactions in a log, on disk and in memory: what markers do, who is refused, and how far committed readers see."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crc32c import crc32c

from penstock.model.batch import iter_headers, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.admission.producer_state import EXPIRATION_MS
from penstock.storage.admission.undecided import Transactions
from penstock.storage.checkpoint.snapshot import decode_snapshot, encode_snapshot
from penstock.storage.interface import AbortedTransaction, Log, LogConfig, OpenTransaction, ProducerView
from penstock.storage.log.log import DiskLog
from penstock.storage.log.retention import run_retention
from penstock.storage.recovery.repair import repair_log
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedIndex, decode_aborted_index
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import Times
from tests.support.committed_reader import NOW, end_transaction, put_in_transaction, read_committed
from tests.support.engine_bench import TOPIC, MemoryBench
from tests.unit.storage.log_rig import Rig, put, put_idempotent, values_of

pytestmark = pytest.mark.feature("K-07")

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


class World:
    """A log, and the ways to flush it and to let producers expire."""

    def __init__(self, log: Log, flush: Callable[[], None], expire: Callable[[int], object]) -> None:
        self.log = log
        self.flush = flush
        self.expire = expire

    def committed(self) -> list[bytes | None]:
        return [record.value for record in read_committed(self.log)]


@pytest.fixture(params=["disk", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "disk":
        rig = Rig(tmp_path, SMALL)
        yield World(rig.log, rig.flush, rig.log.expire_producers)
        rig.cache.close()
    else:
        bench = MemoryBench()
        bench.create("t", TOPIC, segment_bytes=600)
        bench.start()
        log = bench.engine.log(PartitionId(TOPIC, 0))
        yield World(log, bench.settle, log.run_retention)


def refused(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call()
    return raised.value.code


# --- the last stable offset ----------------------------------------------------------------------------------------


def test_without_transactions_it_is_the_flushed_end(world: World) -> None:
    log = world.log
    assert log.stable_end(log.flushed) == 0
    put(log, b"a")
    put_idempotent(log, 0, b"b")
    assert log.stable_end(log.flushed) == 0
    world.flush()
    assert log.stable_end(log.flushed) == log.flushed == 2
    assert log.open_transactions() == []


def test_an_open_transaction_holds_it(world: World) -> None:
    log = world.log
    put(log, b"before")
    put_in_transaction(log, 9, 0, b"in it")
    put(log, b"after")
    world.flush()
    assert (log.stable_end(log.flushed), log.flushed) == (1, 3)
    assert world.committed() == [b"before"]
    assert log.open_transactions() == [OpenTransaction(9, 0, -1, 1, NOW)]
    put_in_transaction(log, 9, 1, b"more of it")
    world.flush()
    assert log.stable_end(log.flushed) == 1


def test_it_passes_a_marker_only_when_that_is_flushed(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a")
    world.flush()
    end_transaction(log, 9, commit=True)
    assert log.open_transactions() == []
    assert log.stable_end(log.flushed) == 0
    world.flush()
    assert log.stable_end(log.flushed) == 2
    assert world.committed() == [b"a"]


def test_the_oldest_of_several_counts(world: World) -> None:
    log = world.log
    for producer_id in (1, 2, 3):
        put_in_transaction(log, producer_id, 0, b"%d" % producer_id)
    end_transaction(log, 2, commit=True)
    world.flush()
    assert log.stable_end(log.flushed) == 0
    end_transaction(log, 1, commit=False)
    world.flush()
    assert log.stable_end(log.flushed) == 2
    assert world.committed() == [b"2"]
    end_transaction(log, 3, commit=True)
    world.flush()
    assert log.stable_end(log.flushed) == log.flushed == 6
    assert world.committed() == [b"2", b"3"]


def test_markers_that_are_not_flushed_cover_each_other() -> None:
    transactions = Transactions()
    for producer_id, start in ((1, 10), (2, 20), (3, 30)):
        transactions.begin(producer_id, start)
    assert transactions.end(2, 40, is_commit=True) is None
    assert transactions.end(1, 41, is_commit=False) == AbortedEntry(1, 10, 41, 30)
    assert transactions.stable_end(40) == 10
    assert transactions.stable_end(41) == 10
    assert transactions.stable_end(42) == 30
    assert transactions.end(3, 42, is_commit=False) == AbortedEntry(3, 30, 42, 43)
    assert transactions.stable_end(42) == 30
    assert transactions.stable_end(43) == 43
    assert transactions.stable_end(42) == 30, "asking changes nothing"
    transactions.forget_ended(42)
    assert (transactions.stable_end(42), transactions.ending) == (30, [(42, 30)])
    transactions.forget_ended(43)
    assert (dict(transactions.open), transactions.ending) == ({}, [])


def test_a_beginning_that_was_deleted_decides_nothing(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a", b"b", b"c")
    put_in_transaction(log, 9, 3, b"d")
    world.flush()
    log.delete_records(3)
    assert (log.log_start, log.stable_end(log.flushed)) == (3, 3)
    world.flush()
    put_in_transaction(log, 9, 4, b"e")
    world.flush()
    assert log.stable_end(log.flushed) == 3
    end_transaction(log, 9, commit=False)
    world.flush()
    assert log.stable_end(log.flushed) == 6
    assert world.committed() == []


# --- who is refused ------------------------------------------------------------------------------------------------


def test_a_plain_batch_inside_a_transaction_is_refused(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a")
    assert refused(lambda: put_idempotent(log, 1, b"plain")) is ErrorCode.INVALID_TXN_STATE
    assert refused(lambda: put_idempotent(log, 0, b"plain", epoch=1)) is ErrorCode.INVALID_TXN_STATE
    assert put_idempotent(log, 0, b"somebody else", producer_id=10).base_offset == 1
    assert put_in_transaction(log, 9, 0, b"a").duplicate
    end_transaction(log, 9, commit=True)
    assert put_idempotent(log, 1, b"plain").base_offset == 3


def test_markers_are_fenced_by_both_epochs(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a", epoch=3)
    assert refused(lambda: end_transaction(log, 9, commit=True, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    end_transaction(log, 9, commit=True, epoch=3, coordinator_epoch=5)
    fenced = refused(lambda: end_transaction(log, 9, commit=True, epoch=3, coordinator_epoch=4))
    assert fenced is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    end_transaction(log, 9, commit=True, epoch=3, coordinator_epoch=5)
    assert log.log_end == 3


def test_a_marker_with_the_next_epoch_takes_the_producer_to_it(world: World) -> None:
    """As transactions of version 2 have it."""
    log = world.log
    put_in_transaction(log, 9, 0, b"a", b"b")
    end_transaction(log, 9, commit=True, epoch=1)
    assert refused(lambda: put_in_transaction(log, 9, 2, b"late")) is ErrorCode.INVALID_PRODUCER_EPOCH
    late = refused(lambda: put_in_transaction(log, 9, 2, b"no", epoch=1))
    assert late is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert put_in_transaction(log, 9, 0, b"next", epoch=1).base_offset == 3
    view = log.producer(9)
    assert view is not None
    assert (view.producer_epoch, view.last_sequence, view.coordinator_epoch, view.current_txn_start_offset) == (
        1, 0, 0, 3,
    )  # fmt: skip


def test_a_marker_with_the_same_epoch_keeps_the_sequences(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a", b"b")
    end_transaction(log, 9, commit=True)
    assert refused(lambda: put_in_transaction(log, 9, 0, b"x")) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert put_in_transaction(log, 9, 2, b"next").base_offset == 3


def test_a_marker_for_a_producer_that_is_not_known(world: World) -> None:
    log = world.log
    assert log.producer(9) is None
    end_transaction(log, 9, commit=False, epoch=4, coordinator_epoch=2)
    world.flush()
    assert log.stable_end(log.flushed) == log.flushed == 1
    assert log.aborted_transactions(0, 1, wait=True) == []
    view = log.producer(9)
    assert view is not None
    assert view[:3] == (9, 4, -1)
    assert (view.coordinator_epoch, view.current_txn_start_offset) == (2, -1)
    assert refused(lambda: put_in_transaction(log, 9, 0, b"old", epoch=3)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert put_in_transaction(log, 9, 0, b"next", epoch=4).base_offset == 1


def test_a_new_epoch_waits_for_the_end_of_an_older_transaction(world: World) -> None:
    """Both would end with one marker, and what was never committed would be seen."""
    log = world.log
    put_in_transaction(log, 9, 0, b"a")
    with pytest.raises(KafkaError) as refused:
        put_in_transaction(log, 9, 0, b"b", epoch=1)
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
    end_transaction(log, 9, commit=False, epoch=1)
    put_in_transaction(log, 9, 0, b"b", epoch=1)
    world.flush()
    assert [one.first_offset for one in log.open_transactions()] == [2]
    assert log.aborted_transactions(0, log.stable_end(log.flushed), wait=True) == [AbortedTransaction(9, 0)]


def test_an_open_transaction_does_not_expire(world: World) -> None:
    log = world.log
    put_in_transaction(log, 9, 0, b"a")
    put_idempotent(log, 0, b"b", producer_id=10)
    late_ms = NOW + 2 * EXPIRATION_MS
    world.expire(late_ms)
    assert [view.producer_id for view in log.producers()] == [9]
    end_transaction(log, 9, commit=True, now_ms=late_ms)
    world.expire(late_ms + EXPIRATION_MS - 1)
    assert log.producer(9) is not None
    world.expire(late_ms + EXPIRATION_MS)
    assert log.producer(9) is None


def test_a_marker_is_the_brokers_own(tmp_path: Path) -> None:
    """Markers are written whatever the topic's limits of sizes and times are."""
    rig = Rig(tmp_path, LogConfig(max_message_bytes=10, log_append_time=True))
    end_transaction(rig.log, 9, commit=True)
    rig.flush()
    batch = rig.log.read(0, 1000, end=1, one_batch_at_least=True, wait=True).records
    header = read_header(batch)
    assert (header.is_control, header.is_transactional, header.is_log_append_time) == (True, True, True)


# --- aborted transactions ------------------------------------------------------------------------------------------


def test_only_those_that_overlap_are_listed(world: World) -> None:
    log = world.log
    for producer_id in (1, 2, 3):  # offsets 0-2, markers 3-5
        put_in_transaction(log, producer_id, 0, b"%d" % producer_id)
    for producer_id in (1, 2, 3):
        end_transaction(log, producer_id, commit=producer_id == 2)
    put(log, b"plain")
    world.flush()
    assert log.stable_end(log.flushed) == 7
    listed = [(one.producer_id, one.first_offset) for one in log.aborted_transactions(0, 7, wait=True)]
    assert listed == [(1, 0), (3, 2)]
    assert log.aborted_transactions(0, 3, wait=True) == [AbortedTransaction(1, 0), AbortedTransaction(3, 2)]
    assert log.aborted_transactions(0, 1, wait=True) == [AbortedTransaction(1, 0)]
    assert log.aborted_transactions(3, 7, wait=True) == [AbortedTransaction(1, 0), AbortedTransaction(3, 2)]
    assert log.aborted_transactions(4, 7, wait=True) == [AbortedTransaction(3, 2)]
    assert log.aborted_transactions(6, 7, wait=True) == []
    assert world.committed() == [b"2", b"plain"]


def test_a_transaction_over_many_segments(world: World) -> None:
    log = world.log
    for index in range(20):
        put_in_transaction(log, 9, index, b"aborted" * 10)
        put_in_transaction(log, 10, index, b"%d" % index)
        put(log, b"plain %d" % index)
    end_transaction(log, 9, commit=False)
    end_transaction(log, 10, commit=True)
    world.flush()
    assert log.segment_count > 5
    expected = [value for index in range(20) for value in (b"%d" % index, b"plain %d" % index)]
    assert world.committed() == expected
    assert [record.value for record in read_committed(log, max_bytes=100)] == expected
    assert log.aborted_transactions(10, 11, wait=True) == [AbortedTransaction(9, 0)]


def test_an_abort_in_the_first_segment_does_not_hide_what_came_later(world: World) -> None:
    log = world.log
    for index in range(30):
        put_in_transaction(log, 9, index, b"%d" % index + b"x" * 50)
        end_transaction(log, 9, commit=index % 2 == 0)
    world.flush()
    assert world.committed() == [b"%d" % index + b"x" * 50 for index in range(0, 30, 2)]


# --- over restarts -------------------------------------------------------------------------------------------------


def filled(tmp_path: Path) -> Rig:
    """Three producers over many segments; 9 aborts, 10 commits, 11 is open."""
    rig = Rig(tmp_path, SMALL)
    for index in range(12):
        for producer_id in (9, 10):
            for part in (0, 1):
                put_in_transaction(rig.log, producer_id, 2 * index + part, b"%d:%d" % (producer_id, index) + b"x" * 60)
        put(rig.log, b"plain %d" % index)
        end_transaction(rig.log, 10, commit=True)
        end_transaction(rig.log, 9, commit=False, coordinator_epoch=2)
    put_in_transaction(rig.log, 11, 0, b"open")
    rig.flush()
    assert rig.log.segment_count > 8
    return rig


def check_filled(log: DiskLog) -> None:
    committed = [
        value
        for index in range(12)
        for value in (b"10:%d" % index + b"x" * 60, b"10:%d" % index + b"x" * 60, b"plain %d" % index)
    ]
    assert [record.value for record in read_committed(log)] == committed
    assert [one[:4] for one in log.open_transactions()] == [(11, 0, -1, 84)]
    assert log.stable_end(log.flushed) == 84
    aborted = log.aborted_transactions(0, log.stable_end(log.flushed), wait=True)
    assert [one.first_offset for one in aborted] == [index * 7 for index in range(12)]
    view = log.producer(9)
    assert view is not None
    assert (view.coordinator_epoch, view.last_sequence, view.current_txn_start_offset) == (2, 23, -1)


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_everything_is_there_again(tmp_path: Path, clean: bool, checkpoint: bool) -> None:
    rig = filled(tmp_path)
    check_filled(rig.log)
    for _ in range(3):
        if checkpoint:
            rig.checkpoint()
            check_filled(rig.log)
        check_filled(rig.reopen(clean=clean))
    put_in_transaction(rig.log, 11, 1, b"goes on")
    end_transaction(rig.log, 11, commit=True)
    rig.flush()
    assert rig.log.stable_end(rig.log.flushed) == rig.log.log_end


def lose(rig: Rig, how: str) -> None:
    for name in rig.names(".txnindex"):
        path = rig.directory / name
        data = bytearray(path.read_bytes())
        if how == "missing":
            path.unlink()
        elif how == "empty":
            path.write_bytes(b"")
        elif how == "cut":
            path.write_bytes(data[:-1])
        elif how == "zeros":
            path.write_bytes(bytes(len(data)))
        elif how == "flipped":
            data[-20] ^= 1
            path.write_bytes(data)


@pytest.mark.parametrize("how", ["missing", "empty", "cut", "zeros", "flipped"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_lost_index_is_rebuilt(tmp_path: Path, how: str, clean: bool) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    put_in_transaction(rig.log, 12, 0, b"later")
    end_transaction(rig.log, 12, commit=False)
    rig.flush()
    rig.close() if clean else rig.kill()
    assert len(rig.names(".txnindex")) > 3
    lose(rig, how)
    log = rig.open()
    with pytest.raises(BlockingIOError):
        log.aborted_transactions(0, 84, wait=False)
    check_filled(log)
    assert log.aborted_transactions(0, 84, wait=False)
    end_transaction(log, 11, commit=True)
    rig.flush()
    assert AbortedTransaction(12, 85) in log.aborted_transactions(0, log.stable_end(log.flushed), wait=True)
    assert values_of(log)[-1] == b"later"
    assert read_committed(log)[-1].value == b"open"


@pytest.mark.parametrize("keep", ["none", "older"])
def test_without_the_newest_snapshot(tmp_path: Path, keep: str) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    put(rig.log, b"plain")
    end_transaction(rig.log, 11, commit=False)
    put_in_transaction(rig.log, 11, 1, b"another")
    rig.flush()
    rig.checkpoint()
    rig.kill()
    names = rig.names(".snapshot")
    assert len(names) == 2
    for name in names if keep == "none" else names[-1:]:
        (rig.directory / name).write_bytes(b"not a snapshot")
    log = rig.open()
    assert [one.first_offset for one in log.open_transactions()] == [87]
    assert log.stable_end(log.flushed) == 87
    aborted = [one.first_offset for one in log.aborted_transactions(0, 87, wait=True)]
    assert aborted == [*(index * 7 for index in range(12)), 84]
    assert [record.value for record in read_committed(log, 84)] == [b"plain"]


def test_a_marker_in_a_torn_tail_decides_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, SMALL)
    put_in_transaction(rig.log, 9, 0, b"a")
    rig.flush()
    size = rig.segment_file().stat().st_size
    end_transaction(rig.log, 9, commit=True)
    rig.flush()
    rig.close()
    for name in rig.names(".snapshot"):
        (rig.directory / name).unlink()
    with rig.segment_file().open("r+b") as file:
        file.truncate(size + 40)
    log = rig.open()
    assert [one.first_offset for one in log.open_transactions()] == [0]
    assert log.stable_end(log.flushed) == 0


def test_the_index_files_are_kafkas(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.close()
    entries = [
        entry for name in rig.names(".txnindex") for entry in decode_aborted_index((rig.directory / name).read_bytes())
    ]
    assert [(entry.producer_id, entry.first_offset) for entry in entries] == [(9, index * 7) for index in range(12)]
    assert [entry.last_offset for entry in entries] == [index * 7 + 6 for index in range(12)]
    assert [entry.last_stable for entry in entries] == [index * 7 + 7 for index in range(12)]
    first = (rig.directory / rig.names(".txnindex")[0]).read_bytes()
    assert first[:34].hex() == "0000" + f"{9:016x}{0:016x}{6:016x}{7:016x}"
    with pytest.raises(ValueError, match="not whole entries"):
        decode_aborted_index(first[:-1])
    with pytest.raises(ValueError, match="version"):
        decode_aborted_index(b"\x00\x01" + first[2:34])


def test_an_index_takes_no_file_but_its_own() -> None:
    index = AbortedIndex()
    for number in range(3):
        index.add(AbortedEntry(9, 10 * number, 10 * number + 5, 10 * number + 6))
    data = index.encode(3)
    known = AbortedIndex(index.summary)
    assert not known.is_whole
    assert not known.take_file(data[:-34])
    assert not known.take_file(data[34:] + data[:34])
    assert known.take_file(data + b"a later one")
    assert [entry.first_offset for entry in known.since(6)] == [10, 20]


def test_segments_take_their_indexes_with_them(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    before = len(rig.names(".txnindex"))
    rig.log.delete_records(50)
    run_retention(rig.log, NOW)
    assert len(rig.names(".txnindex")) < before
    names = {name.removesuffix(".txnindex") for name in rig.names(".txnindex")}
    assert names <= {name.removesuffix(".log") for name in rig.names(".log")}
    log = rig.reopen(clean=True)
    assert [one.first_offset for one in log.aborted_transactions(50, 84, wait=True)] == [49, 56, 63, 70, 77]


def test_a_snapshot_from_before_there_were_transactions(tmp_path: Path) -> None:
    """Version 1 lacks what is said of them, and nothing else."""
    content = struct.pack("<qI", 12, 1) + struct.pack("<qqQqqq", 0, 12, 900, 5, 7, 3)
    content += struct.pack("<I", 1) + struct.pack("<iq", 2, 0)
    content += struct.pack("<I", 1) + struct.pack("<qhqqB", 9, 4, 6, 8, 1) + struct.pack("<iiqqq", 0, 2, 3, 5, 7)
    snapshot = decode_snapshot(struct.pack("<4sHHI", b"PSSN", 1, 0, crc32c(content)) + content)
    assert snapshot.segments == [SegmentEntry(0, 12, 900, Times(5, 7, 3))]
    assert snapshot.epochs == [(2, 0)]
    assert snapshot.producers.views() == [ProducerView(9, 4, 2, 6, -1, -1)]
    again = encode_snapshot(12, snapshot.segments, snapshot.epochs, snapshot.producers.encode())
    assert decode_snapshot(again).producers.views() == snapshot.producers.views()


def test_repair_keeps_what_is_open_and_hides_what_was_aborted(tmp_path: Path) -> None:
    rig = filled(tmp_path)
    rig.checkpoint()
    rig.kill()
    segment = rig.segment_file(3)
    at = next(at for at, header in iter_headers(segment.read_bytes()) if header.producer_id == 10)
    data = bytearray(segment.read_bytes())
    data[at + 70] ^= 1
    segment.write_bytes(data)
    repair_log(rig.files, rig.directory, now_ms=NOW, log_start=0)
    log = rig.open()
    assert [one.producer_id for one in log.open_transactions()][-1] == 11
    shown = {record.value for record in read_committed(log)}
    assert not any(value is not None and value.startswith(b"9:") for value in shown)
    assert log.log_end == 85
