"""The last batch of a partition: kept while a reader waits for it, byte for byte as in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.broker.delivery.reading.feed import Feed
from penstock.cluster.partition import TAIL_BYTES_MAX, Partition
from penstock.cluster.role import Leader
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import PartitionId
from tests.support.engine_bench import TOPIC, EngineBench

NOW_MS = 1_000_000


def nothing() -> None:
    """A waiter."""


@pytest.fixture
def bench(tmp_path: Path) -> EngineBench:
    return EngineBench(tmp_path)


@pytest.fixture
def partition(bench: EngineBench) -> Partition:
    bench.create("t", TOPIC)
    made = Partition("t", PartitionId(TOPIC, 0), bench.engine.log(PartitionId(TOPIC, 0)), Leader(3))
    bench.on_flushed = lambda log: made.log_advanced()  # type: ignore[method-assign]
    bench.start()
    return made


def append(partition: Partition, value: bytes = b"v", *, transactional: bool = False, sequence: int = -1) -> None:
    batch = build_batch(
        [NewRecord(None, value, (), NOW_MS)],
        timestamp=NOW_MS,
        producer_id=8 if transactional else 7 if sequence >= 0 else -1,
        producer_epoch=0,
        base_sequence=max(0, sequence),
        transactional=transactional,
    )
    partition.append(batch, read_header(batch), NOW_MS)


def offset(partition: Partition) -> int | None:
    return None if partition.last_batch is None else partition.last_batch.offset


def test_it_is_kept_only_while_somebody_waits(partition: Partition) -> None:
    append(partition)
    assert offset(partition) is None
    partition.add_data_waiter(nothing)
    append(partition)
    assert offset(partition) == 1
    partition.remove_data_waiter(nothing)
    assert offset(partition) is None


def test_it_is_what_the_log_has(bench: EngineBench, partition: Partition) -> None:
    partition.add_data_waiter(nothing)
    append(partition)
    append(partition)
    bench.settle()
    stored = partition.read(1, 1 << 16, one_batch_at_least=True, wait=True)
    assert partition.last_batch is not None
    assert partition.last_batch.batch == bytes(stored.records)


def test_what_a_reader_gets_is_the_same_with_and_without(bench: EngineBench, partition: Partition) -> None:
    partition.add_data_waiter(nothing)
    append(partition, b"first")
    append(partition, b"second")
    feed = Feed(partition)
    assert feed.next_chunk(1, ttl_ms=-1, now_ms=NOW_MS, wanted=None) is None, "it is not committed"
    bench.settle()
    kept = feed.next_chunk(1, ttl_ms=-1, now_ms=NOW_MS, wanted=None)
    partition.last_batch = None
    read = Feed(partition).next_chunk(1, ttl_ms=-1, now_ms=NOW_MS, wanted=None)
    assert kept is not None
    assert read is not None
    assert (kept.offsets, kept.items, kept.next_offset) == (read.offsets, read.items, read.next_offset)


def test_large_ones_repeated_ones_and_those_of_transactions_are_not_kept(partition: Partition) -> None:
    partition.add_data_waiter(nothing)
    append(partition, bytes(TAIL_BYTES_MAX))
    append(partition, transactional=True)
    assert offset(partition) is None
    append(partition, sequence=0)
    assert offset(partition) == 2
    append(partition)
    append(partition, sequence=0)
    assert offset(partition) == 3
