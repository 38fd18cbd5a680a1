"""Reading on from segment to segment, on disk and in memory: where it ends, and what it does about trouble ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.model.batch import iter_headers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.interface import AbortedTransaction, Log, LogConfig, LogState, ReadSlice
from penstock.storage.log.multi_segment_read import read_stretch
from penstock.storage.log.retention import run_retention
from tests.support.committed_reader import committed_in, end_transaction, put_in_transaction
from tests.support.engine_bench import TOPIC, MemoryBench
from tests.unit.storage.log_rig import NOW, Rig, make_batch, put

pytestmark = pytest.mark.feature("F-01")

BATCH_BYTES = len(make_batch(b"x" * 100))
SMALL = LogConfig(segment_bytes=3 * BATCH_BYTES, index_interval_bytes=100)
ALL = 1 << 24


class World:
    """A log and the way to flush it."""

    def __init__(self, log: Log, flush: Callable[[], None]) -> None:
        self.log = log
        self.flush = flush

    def fill(self, batches: int) -> None:
        """One record each, three to a segment."""
        for _ in range(batches):
            put(self.log, b"x" * 100)
        self.flush()


@pytest.fixture(params=["disk", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "disk":
        rig = Rig(tmp_path, SMALL)
        yield World(rig.log, rig.flush)
        rig.cache.close()
    else:
        bench = MemoryBench()
        bench.create("t", TOPIC, segment_bytes=SMALL.segment_bytes)
        bench.start()
        yield World(bench.engine.log(PartitionId(TOPIC, 0)), bench.settle)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, SMALL)
    for _ in range(12):
        rig.append(b"x" * 100)
    yield rig
    rig.cache.close()


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Rig]:
    """Segments of three batches that are sent straight from their files, and an active one with a single batch."""
    rig = Rig(tmp_path, LogConfig(segment_bytes=700_000))
    for _ in range(10):
        rig.append(b"x" * 200_000)
    yield rig
    rig.cache.close()


def stretch(
    log: Log,
    offset: int = 0,
    max_bytes: int = ALL,
    *,
    end: int | None = None,
    at_least_one: bool = True,
    wait: bool = True,
    slices_max: int = 100,
) -> list[ReadSlice]:
    return read_stretch(
        log,
        offset,
        max_bytes,
        end=log.flushed if end is None else end,
        one_batch_at_least=at_least_one,
        wait=wait,
        slices_max=slices_max,
    )


def offsets(found: list[ReadSlice]) -> list[list[int]]:
    """Of the batches of each slice."""
    return [[header.base_offset for _, header in iter_headers(piece.records)] for piece in found]


# --- limits ----------------------------------------------------------------------------------------------------------


def test_it_goes_on_to_the_end(world: World) -> None:
    world.fill(11)
    found = stretch(world.log)
    assert offsets(found) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]]
    assert [(piece.first_offset, piece.next_offset) for piece in found] == [(0, 3), (3, 6), (6, 9), (9, 11)]
    assert [piece.has_next for piece in found] == [True, True, True, False]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        (2, [[0, 1]]),  # inside the first segment
        (3, [[0, 1, 2]]),  # just its end
        (4, [[0, 1, 2], [3]]),
        (6, [[0, 1, 2], [3, 4, 5]]),
        (10, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]),  # beyond the third
        (100, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]),
    ],
)
@pytest.mark.parametrize("spare", [0, 1, BATCH_BYTES - 1])
def test_the_byte_limit_counts_over_all_segments(
    world: World, batches: int, spare: int, expected: list[list[int]]
) -> None:
    world.fill(12)
    found = stretch(world.log, max_bytes=batches * BATCH_BYTES + spare)
    assert offsets(found) == expected
    assert found[-1].has_next is (len(expected[-1]) == 3 and batches < 12)


@pytest.mark.parametrize("end", range(1, 13))
def test_the_offset_limit_may_be_in_any_segment(world: World, end: int) -> None:
    world.fill(12)
    found = stretch(world.log, end=end)
    assert [offset for piece in offsets(found) for offset in piece] == list(range(end))
    assert not found[-1].has_next


def test_only_the_first_batch_may_be_too_large(world: World) -> None:
    world.fill(6)
    assert offsets(stretch(world.log, max_bytes=1)) == [[0]]
    assert offsets(stretch(world.log, 2, max_bytes=1)) == [[2]]
    assert stretch(world.log, max_bytes=1, at_least_one=False) == []
    # The last batch of a segment fits, the next segment's first does not: it is not taken for the first of all.
    assert offsets(stretch(world.log, 2, max_bytes=2 * BATCH_BYTES - 1)) == [[2]]


def test_a_first_batch_that_fills_a_segment_by_itself(world: World) -> None:
    put(world.log, b"y" * (SMALL.segment_bytes - BATCH_BYTES))
    world.fill(6)
    assert offsets(stretch(world.log, max_bytes=BATCH_BYTES)) == [[0]]
    assert offsets(stretch(world.log, 1, max_bytes=5 * BATCH_BYTES)) == [[1, 2, 3], [4, 5]]


def test_segments_are_counted(world: World) -> None:
    world.fill(12)
    found = stretch(world.log, 1, slices_max=2)
    assert offsets(found) == [[1, 2], [3, 4, 5]]
    assert found[-1].has_next


def test_nothing_to_read(world: World) -> None:
    world.fill(6)
    assert stretch(world.log, 6) == []
    with pytest.raises(KafkaError, match="offset 7"):
        stretch(world.log, 7)


# --- transactions ----------------------------------------------------------------------------------------------------


def test_committed_readers_stop_inside_the_second_segment(world: World) -> None:
    world.fill(4)
    put_in_transaction(world.log, 1, 0, b"open")
    world.fill(6)
    assert world.log.stable_end(world.log.flushed) == 4
    assert offsets(stretch(world.log, end=world.log.stable_end(world.log.flushed))) == [[0, 1, 2], [3]]


def test_aborted_transactions_of_all_segments_are_told(world: World) -> None:
    log = world.log
    for producer_id, commit in ((1, False), (2, True), (3, False)):
        put_in_transaction(log, producer_id, 0, b"%d" % producer_id * 100)
        world.fill(3)
        end_transaction(log, producer_id, commit=commit)
    world.flush()
    found = stretch(log, end=log.stable_end(log.flushed))
    assert len(found) > 3
    aborted = log.aborted_transactions(0, found[-1].next_offset, wait=True)
    assert aborted == [AbortedTransaction(1, 0), AbortedTransaction(3, 10)]
    shown = committed_in(b"".join(piece.records for piece in found), aborted)
    assert [(record.value or b"")[:1] for record in shown] == [b"x"] * 3 + [b"2"] + [b"x"] * 6


# --- trouble ahead ---------------------------------------------------------------------------------------------------


def test_a_damaged_segment_is_told_to_who_asks_for_it(rig: Rig) -> None:
    rig.reopen(clean=True)
    with open(rig.segment_file(2), "r+b") as file:
        file.seek(BATCH_BYTES + 70)
        file.write(b"?")
    assert offsets(stretch(rig.log)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert rig.log.state is LogState.DAMAGED
    assert offsets(stretch(rig.log, 4)) == [[4, 5], [6]]
    with pytest.raises(KafkaError) as raised:
        stretch(rig.log, 7)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE


def test_what_has_to_be_waited_for_ends_it(large: Rig) -> None:
    """Here an index, without which a segment can be read as a whole, but not in parts."""
    large.reopen(clean=True)
    sizes = [path.stat().st_size for path in sorted(large.directory.glob("*.log"))]
    found = stretch(large.log, max_bytes=sizes[0] + sizes[1] + sizes[2] - 1, wait=False)
    assert offsets(found) == [[0, 1, 2], [3, 4, 5]]
    assert found[-1].has_next
    with pytest.raises(BlockingIOError):
        stretch(large.log, 6, max_bytes=sizes[2] - 1, wait=False)
    assert offsets(stretch(large.log, 6, max_bytes=sizes[2] - 1, wait=True)) == [[6, 7]]
    assert offsets(stretch(large.log, wait=False)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


# --- segments that go meanwhile --------------------------------------------------------------------------------------


def test_what_was_found_can_be_sent_when_its_segments_are_gone(large: Rig, tmp_path: Path) -> None:
    found = stretch(large.log, wait=False)
    expected = b"".join(piece.records for piece in found)
    parts = [piece.part for piece in found if piece.part is not None]
    assert len(parts) == len(found) == 4
    del found
    large.log.delete_records(10)
    assert run_retention(large.log, NOW) == 3
    assert len(large.names(".log")) == 1
    with open(tmp_path / "sent", "w+b") as sent:
        for part in parts:
            while len(part):
                part.send(sent.fileno())
        sent.seek(0)
        assert sent.read() == expected
