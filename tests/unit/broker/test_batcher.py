"""Single messages, gathered: one batch per turn, and offsets and errors for each sender."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.batcher import Batcher, Gatherer
from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader
from penstock.cluster.topics import TopicTable
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, append_record, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.model.record import Headers
from penstock.observability.metrics import BrokerMetrics
from penstock.storage.interface import Log
from tests.support.engine_bench import TOPIC, EngineBench, MemoryBench

Told = dict[bytes, int | ErrorCode]


class Gathering:
    """A gatherer over a real engine; `turn` is the end of a turn of the loop, `settle` a flush besides."""

    def __init__(self, bench: EngineBench | MemoryBench, **config: Any) -> None:
        self.bench = bench
        bench.on_flushed = self._on_flushed  # type: ignore[method-assign]
        bench.start()
        bench.create("t", TOPIC, **config)
        log = bench.engine.log(PartitionId(TOPIC, 0))
        self.partition = Partition("t", PartitionId(TOPIC, 0), log, Leader(0))
        self.turns: list[Callable[[], None]] = []
        self.metrics = BrokerMetrics()
        batcher = Batcher(self.partition, RecordAppender(TopicTable(), self.metrics), bench.clock)
        self.gatherer = Gatherer(batcher, self.turns.append)
        self.told: Told = {}

    def _on_flushed(self, log: Log) -> None:
        self.partition.log_advanced()

    def add(
        self, value: bytes, key: bytes | None = None, *, headers: Headers = (), timestamp: int | None = None
    ) -> None:
        def done(offset: int, error: KafkaError | None) -> None:
            assert value not in self.told, "told twice"
            self.told[value] = offset if error is None else error.code

        self.gatherer.add(NewRecord(key, value, headers, timestamp), done)

    def turn(self) -> None:
        turns, self.turns[:] = list(self.turns), []
        for turn in turns:
            turn()

    def settle(self) -> None:
        self.turn()
        self.bench.settle()

    def batches(self) -> list[int]:
        """Records of each."""
        piece = self.partition.read(0, 1 << 20, one_batch_at_least=True, wait=True)
        return [header.record_count for _, header in iter_headers(piece.records)]


@pytest.fixture(params=["disk", "memory"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> EngineBench | MemoryBench:
    return EngineBench(tmp_path) if request.param == "disk" else MemoryBench()


@pytest.mark.feature("P-26")
def test_what_comes_in_one_turn_is_one_batch(bench: EngineBench | MemoryBench) -> None:
    world = Gathering(bench)
    for number in range(5):
        world.add(b"%d" % number)
    world.turn()
    assert not world.told or bench.engine.log(PartitionId(TOPIC, 0)).flushed == 5, "told before it was on disk"
    world.add(b"late")
    world.settle()
    assert world.told == {b"0": 0, b"1": 1, b"2": 2, b"3": 3, b"4": 4, b"late": 5}
    assert bench.values() == ["0", "1", "2", "3", "4", "late"]
    assert world.batches() == [5, 1]


def test_a_batch_ends_where_the_topic_allows_no_more(bench: EngineBench | MemoryBench) -> None:
    world = Gathering(bench, max_message_bytes=1000)
    for number in range(30):
        world.add(b"%02d" % number * 50)
    world.settle()
    assert sorted(world.told.values(), key=str) == sorted(range(30), key=str)
    assert len(world.batches()) > 3
    assert sum(world.batches()) == 30


def test_one_that_is_too_large_takes_no_other_with_it(bench: EngineBench | MemoryBench) -> None:
    world = Gathering(bench, max_message_bytes=1000)
    world.add(b"before")
    world.add(b"x" * 2000)
    world.add(b"after")
    world.settle()
    assert world.told == {b"before": 0, b"x" * 2000: ErrorCode.MESSAGE_TOO_LARGE, b"after": 1}


HOUR_MS = 3_600_000


@pytest.mark.parametrize("bad", ["first", "middle", "last"])
@pytest.mark.parametrize("ahead_ms", [2 * HOUR_MS, None], ids=["too far ahead", "the largest number"])
def test_one_with_a_bad_time_takes_no_other_with_it(tmp_path: Path, bad: str, ahead_ms: int | None) -> None:
    world = Gathering(EngineBench(tmp_path), timestamp_after_max_ms=HOUR_MS)
    now_ms = world.bench.clock.now_ms()
    for name in ("first", "middle", "last"):
        too_late = (1 << 63) - 1 if ahead_ms is None else now_ms + ahead_ms
        world.add(name.encode(), timestamp=too_late if name == bad else now_ms)
    world.settle()
    good = [name for name in ("first", "middle", "last") if name != bad]
    assert world.told == {
        bad.encode(): ErrorCode.INVALID_TIMESTAMP,
        **{name.encode(): offset for offset, name in enumerate(good)},
    }
    assert world.bench.values() == good
    assert world.batches() == [2], "one with a bad time costs the others no batch of their own"


def test_one_that_is_too_old_takes_no_other_with_it(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path), timestamp_before_max_ms=HOUR_MS)
    now_ms = world.bench.clock.now_ms()
    world.add(b"old", timestamp=now_ms - HOUR_MS - 1)
    world.add(b"just right", timestamp=now_ms - HOUR_MS)
    world.add(b"timeless", timestamp=-1)
    world.settle()
    assert world.told == {b"old": ErrorCode.INVALID_TIMESTAMP, b"just right": 0, b"timeless": 1}


def test_a_message_of_later_in_the_turn_is_measured_by_its_own_time(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path), timestamp_after_max_ms=0)
    world.add(b"a", timestamp=world.bench.clock.now_ms())
    world.bench.clock.advance(5)
    world.add(b"b", timestamp=world.bench.clock.now_ms())
    world.settle()
    assert world.told == {b"a": 0, b"b": 1}


def test_where_the_log_stamps_messages_they_may_bring_any_time(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path), log_append_time=True, timestamp_after_max_ms=HOUR_MS)
    world.add(b"a", timestamp=(1 << 63) - 1)
    world.settle()
    assert world.told == {b"a": 0}


def test_names_of_headers_count_with_all_their_bytes(bench: EngineBench | MemoryBench) -> None:
    world = Gathering(bench, max_message_bytes=10_000)
    for number in range(4):
        world.add(b"%d" % number, headers=(("\N{GRINNING FACE}" * 1_000, b""),))  # 4,000 bytes
    world.settle()
    assert world.told == {b"0": 0, b"1": 1, b"2": 2, b"3": 3}
    assert world.batches() == [2, 2]


def test_messages_that_only_fit_apart_are_stored_apart_and_in_order(tmp_path: Path) -> None:
    """Noise grows by packing, which is not known before the batch is made."""
    world = Gathering(EngineBench(tmp_path), max_message_bytes=1 << 20, compression_type="gzip")
    noise = [random.Random(number).randbytes(524_220) for number in range(2)]
    for value in noise:
        world.add(value)
    world.settle()
    assert world.told == {value: offset for offset, value in enumerate(noise)}
    assert [record.value for record in world.bench.records()] == noise


def test_one_that_becomes_too_old_before_the_turn_ends_takes_no_other_with_it(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path), timestamp_before_max_ms=HOUR_MS)
    now_ms = world.bench.clock.now_ms()
    names = [b"%d" % number for number in range(7)]
    world.add(b"old", timestamp=now_ms - HOUR_MS)
    for name in names:
        world.add(name, timestamp=now_ms)
    world.bench.clock.advance(1)
    world.settle()
    assert world.told == {b"old": ErrorCode.INVALID_TIMESTAMP, **{name: offset for offset, name in enumerate(names)}}
    assert world.bench.values() == [name.decode() for name in names]


def test_a_refusal_that_is_not_about_messages_is_not_tried_piece_by_piece(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path))
    for number in range(8):
        world.add(b"%d" % number)
    world.partition.become_follower(1)
    world.settle()
    assert set(world.told.values()) == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert len(world.told) == 8


def test_a_sender_that_sends_more_when_it_is_told_keeps_its_order(tmp_path: Path) -> None:
    """Whatever is added while senders are told comes behind all that was there before."""
    world = Gathering(EngineBench(tmp_path), timestamp_before_max_ms=HOUR_MS)
    now_ms = world.bench.clock.now_ms()

    def refused(offset: int, error: KafkaError | None) -> None:
        assert error is not None
        world.add(b"x" * (1 << 20), timestamp=now_ms)  # has no room beside any other
        world.add(b"third", timestamp=now_ms)

    world.gatherer.add(NewRecord(None, b"old", (), now_ms - HOUR_MS), refused)
    world.add(b"first", timestamp=now_ms)
    world.add(b"second", timestamp=now_ms)
    world.bench.clock.advance(1)
    world.settle()
    world.settle()
    assert world.told == {b"first": 0, b"second": 1, b"x" * (1 << 20): ErrorCode.MESSAGE_TOO_LARGE, b"third": 2}


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from([0, 1, 8191, 8192, 70_000, 1 << 20]),
    st.sampled_from([0, 1, 8191, 8192, 70_000, 1 << 20]),
    st.integers(1, 20),
)
@settings(max_examples=30, deadline=None)
def test_no_record_is_larger_than_it_is_taken_for(name: str, name_bytes: int, content_bytes: int, count: int) -> None:
    headers = ((name + "n" * name_bytes, b"c" * content_bytes),) * count
    record = NewRecord(b"k" * name_bytes, b"v" * content_bytes, headers)
    payload = bytearray()
    append_record(payload, record, -(1 << 62), 1 << 30)
    assert len(payload) <= record_bytes_max(record)


def test_compacted_topics_want_keys(bench: EngineBench | MemoryBench) -> None:
    world = Gathering(bench, cleanup_compact=True)
    world.add(b"without")
    world.add(b"with", key=b"k")
    world.settle()
    assert world.told == {b"without": ErrorCode.INVALID_RECORD, b"with": 0}


def test_a_topic_deleted_meanwhile_is_an_error_and_not_a_silence(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path))
    world.add(b"a")
    world.turn()
    world.partition.mark_deleted()
    assert world.told == {b"a": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_the_codec_of_the_topic_is_used(tmp_path: Path) -> None:
    world = Gathering(EngineBench(tmp_path), compression_type="zstd")
    for number in range(3):
        world.add(b"z" * 100 + b"%d" % number)
    world.settle()
    piece = world.partition.read(0, 1 << 20, one_batch_at_least=True, wait=True)
    assert [header.codec for _, header in iter_headers(piece.records)] == [4]
    assert len(world.bench.values()) == 3
