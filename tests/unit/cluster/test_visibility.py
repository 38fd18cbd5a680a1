"""The rise of a partition's high watermark and last stable offset in each flush mode, and what is really on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader
from penstock.cluster.visibility import ON_DISK, WRITTEN, visibility_of
from penstock.config.settings import Flush
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode
from penstock.model.ids import PartitionId
from penstock.storage.interface import Log
from tests.support.engine_bench import TOPIC, EngineBench

NOW_MS = 1_000_000
PRODUCER = 7


class Place:
    """A partition on disk, told of its log as a partition table tells it."""

    def __init__(self, root: Path, flush: Flush) -> None:
        self.bench = EngineBench(root, flush=flush, flush_interval_ms=3_600_000)
        self.bench.create("t", TOPIC)
        self.log: Log = self.bench.engine.log(PartitionId(TOPIC, 0))
        self.partition = Partition("t", PartitionId(TOPIC, 0), self.log, Leader(0), visibility_of(flush))
        self.bench.on_flushed = lambda log: self.partition.log_advanced()  # type: ignore[method-assign]
        self.bench.start()
        self.told: list[tuple[str, ErrorCode]] = []

    def append(self, *, transactional: bool = False, sequence: int = 0) -> int:
        batch = build_batch(
            [NewRecord(None, b"v", (), NOW_MS)],
            timestamp=NOW_MS,
            producer_id=PRODUCER if transactional else -1,
            producer_epoch=0 if transactional else -1,
            base_sequence=sequence if transactional else -1,
            transactional=transactional,
        )
        return self.partition.append(batch, read_header(batch), NOW_MS).last_offset

    def wait(self, last_offset: int) -> None:
        self.partition.when_stored(last_offset, lambda code: self.told.append(("stored", code)))
        self.partition.when_visible(last_offset, lambda code: self.told.append(("visible", code)))

    def show(self) -> None:
        """A turn of the loop without a flush round."""
        while self.bench.calls:
            function, args = self.bench.calls.popleft()
            function(*args)

    @property
    def marks(self) -> tuple[int, int, int]:
        """On disk, visible, stable."""
        return self.log.flushed, self.partition.high_watermark, self.partition.last_stable


BOTH = [("stored", ErrorCode.NONE), ("visible", ErrorCode.NONE)]


def test_the_rule_follows_the_flush_mode() -> None:
    assert [visibility_of(flush) for flush in Flush] == [ON_DISK, WRITTEN, WRITTEN]


def test_always_nothing_is_seen_before_it_is_on_disk(tmp_path: Path) -> None:
    place = Place(tmp_path, Flush.ALWAYS)
    place.wait(place.append())
    place.show()
    assert (place.marks, place.told) == ((0, 0, 0), [])
    place.bench.settle()
    assert (place.marks, place.told) == ((1, 1, 1), BOTH)


@pytest.mark.parametrize("flush", [Flush.INTERVAL, Flush.OS])
def test_otherwise_it_is_seen_at_once_and_nobody_says_that_it_is_on_disk(tmp_path: Path, flush: Flush) -> None:
    place = Place(tmp_path, flush)
    place.wait(place.append())
    assert place.told == [], "not from within the append"
    place.show()
    assert (place.marks, place.told) == ((0, 1, 1), BOTH)
    place.bench.settle()
    assert place.marks == (1 if flush is Flush.INTERVAL else 0, 1, 1)


@pytest.mark.parametrize("flush", list(Flush))
def test_a_transaction_is_stable_when_its_marker_is_seen(tmp_path: Path, flush: Flush) -> None:
    place = Place(tmp_path, flush)
    place.append(transactional=True)
    place.append()
    place.bench.settle()
    assert (place.partition.high_watermark, place.partition.last_stable) == (2, 0)
    place.partition.append_marker(Marker(PRODUCER, 0, 0, is_commit=True), NOW_MS)
    place.append()
    assert place.partition.last_stable == 0
    place.bench.settle()
    assert (place.partition.high_watermark, place.partition.last_stable) == (4, 4)


@pytest.mark.parametrize("flush", list(Flush))
def test_deleting_overtakes_an_open_transaction(tmp_path: Path, flush: Flush) -> None:
    place = Place(tmp_path, flush)
    place.append(transactional=True)
    place.append()
    place.bench.settle()
    place.log.delete_records(2)
    assert (place.partition.log_start, place.partition.last_stable, place.partition.high_watermark) == (2, 2, 2)


@pytest.mark.parametrize("flush", list(Flush))
def test_a_caught_up_reader_gets_what_is_visible_and_no_more(tmp_path: Path, flush: Flush) -> None:
    place = Place(tmp_path, flush)
    for _ in range(3):
        place.append()
        place.bench.settle()
    place.append()
    found = place.partition.read(2, 1 << 16, one_batch_at_least=True, wait=False)
    assert (found.first_offset, found.next_offset) == (2, 3)
    place.bench.settle()
    found = place.partition.read(2, 1 << 16, one_batch_at_least=True, wait=False)
    assert (found.first_offset, found.next_offset) == (2, 4)


def test_a_failed_flush_is_told_with_its_code_and_raises_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, Flush.ALWAYS)
    place.wait(place.append())
    place.bench.engine.log(PartitionId(TOPIC, 0)).flush_failed(OSError(5, "Input/output error"))
    place.partition.log_advanced()
    assert place.told == [(what, ErrorCode.KAFKA_STORAGE_ERROR) for what, _ in BOTH]
    assert place.marks == (0, 0, 0)
    assert place.partition.failure is ErrorCode.KAFKA_STORAGE_ERROR
    place.wait(0)
    assert len(place.told) == 4, "at once"


def test_one_that_does_not_wait_any_more_is_not_told(tmp_path: Path) -> None:
    place = Place(tmp_path, Flush.ALWAYS)
    told: list[ErrorCode] = []
    last_offset = place.append()
    place.partition.when_visible(last_offset, told.append)
    place.partition.stop_waiting(last_offset, told.append)
    place.partition.when_stored(last_offset, told.append)
    place.partition.stop_waiting(last_offset, told.append)
    place.bench.settle()
    assert told == []
