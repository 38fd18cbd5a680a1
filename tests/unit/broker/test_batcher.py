"""Single messages, gathered: one batch per turn, and offsets and errors for each sender."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.batcher import Batcher, Gatherer
from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader
from penstock.cluster.topics import TopicTable
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
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

    def add(self, value: bytes, key: bytes | None = None) -> None:
        def done(offset: int, error: KafkaError | None) -> None:
            assert value not in self.told, "told twice"
            self.told[value] = offset if error is None else error.code

        self.gatherer.add(NewRecord(key, value), done)

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
