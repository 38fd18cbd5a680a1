"""The memory engine: reads over segments, retention and producers by its own timer, the bound, and its end."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.batch import check_batch, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.admission.producer_state import EXPIRATION_MS
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.memory.log import MemoryLog
from penstock.storage.memory.segment import SEGMENT_BYTES_MAX
from penstock.storage.observer import SilentObserver
from penstock.storage.pace import LOGS_SEEN_PER_TICK
from penstock.testing.inline_worker import InlineWorker
from tests.support.engine_bench import TOPIC, MemoryBench
from tests.unit.storage.log_rig import make_batch, values_of

pytestmark = pytest.mark.feature("K-12", "P-01")

PARTITION = PartitionId(TOPIC, 0)
MIB = 1 << 20


def bench_with(config: dict[str, int], **settings: Any) -> MemoryBench:
    bench = MemoryBench(**settings)
    bench.create("t", TOPIC, **config)
    return bench.start()


def the_log(bench: MemoryBench) -> MemoryLog:
    return bench.engine.log(PARTITION)


def refused(bench: MemoryBench) -> bool:
    try:
        bench.append(b"x")
    except KafkaError as error:
        return error.code is ErrorCode.KAFKA_STORAGE_ERROR
    return False


def test_segments_are_small_whatever_the_topic_says() -> None:
    bench = bench_with({})
    for _ in range(5):
        bench.append(b"x" * 400_000)
    bench.settle()
    log = the_log(bench)
    assert [segment.size <= SEGMENT_BYTES_MAX for segment in log.segments] == [True] * 3
    assert (log.config.segment_bytes, log.segment_count) == (1 << 30, 3)
    assert len(bench.records()) == 5
    assert log.size_bytes == bench.engine.used_bytes == sum(segment.size for segment in log.segments)


def test_a_batch_larger_than_a_segment_has_one_of_its_own() -> None:
    bench = bench_with({"max_message_bytes": 4 * MIB})
    for size in (10, 3 * MIB, 10):
        bench.append(b"x" * size)
    bench.settle()
    assert the_log(bench).segment_count == 3
    assert [len(record.value or b"") for record in bench.records()] == [10, 3 * MIB, 10]


def test_what_was_read_stays_as_it_was_while_the_log_grows() -> None:
    """The slice of an active segment is a copy: the buffer can grow while the answer is on its way."""
    bench = bench_with({"segment_bytes": 400})
    bench.append(b"first")
    bench.settle()
    log = the_log(bench)
    slices = [log.read(0, 1000, end=log.flushed, one_batch_at_least=True, wait=False)]
    for _ in range(20):
        bench.append(b"y" * 50)
    bench.settle()
    slices.append(log.read(0, 1000, end=log.flushed, one_batch_at_least=True, wait=False))
    assert isinstance(slices[1].records, memoryview)  # a sealed segment is not copied
    bench.engine.remove(PARTITION)
    for found in slices:
        assert read_header(found.records).base_offset == 0
        assert b"first" in bytes(found.records)


def test_retention_and_producers_go_by_the_timer() -> None:
    bench = bench_with({"segment_bytes": 200, "retention_ms": 60_000}, retention_check_interval_ms=30_000)
    for n in range(6):
        bench.append(b"x" * 60, producer=(7, n))
    bench.settle()
    log = the_log(bench)
    assert len(log.producers()) == 1
    bench.clock.advance(61_000)
    bench.engine.tick()
    assert (log.log_start, log.log_end, log.size_bytes, bench.engine.used_bytes) == (6, 6, 0, 0)
    bench.append(b"new")
    bench.settle()
    assert [record.offset for record in bench.records()] == [6]
    bench.clock.advance(29_000)
    bench.engine.tick()
    assert len(log.producers()) == 1
    bench.clock.advance(EXPIRATION_MS)
    bench.engine.tick()
    assert log.producers() == []


def test_ten_thousand_logs_are_not_looked_at_in_one_tick() -> None:
    bench = MemoryBench(retention_check_interval_ms=1000)
    count = LOGS_SEEN_PER_TICK + 50
    bench.create("t", TOPIC, count, retention_ms=10)
    bench.start()
    for index in range(count):
        bench.append(b"x", index)
    bench.settle()
    bench.clock.advance(1000)
    bench.engine.tick()
    assert sum(log.log_start == 1 for log in bench.engine.open_logs()) == LOGS_SEEN_PER_TICK
    bench.engine.tick()
    assert sum(log.log_start == 1 for log in bench.engine.open_logs()) == count


def test_full_memory_refuses_produce_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    bench = bench_with({}, memory_bytes_max=4 * MIB)
    with caplog.at_level(logging.WARNING):
        while bench.engine.accepts_writes():
            bench.append(b"x" * 500_000)
        assert refused(bench)
        assert caplog.text.count("memory_bytes_max is reached") == 1
        log = the_log(bench)
        batch = make_batch(b"commit")
        log.append_trusted(batch, check_batch(batch), bench.clock.now_ms())
        bench.settle()
        end = log.log_end
        assert len(bench.records()) == end
        log.delete_records(1)  # too little
        assert refused(bench)
        log.delete_records(end)
        assert not refused(bench)
        assert "produce is accepted again" in caplog.text


def test_retention_and_deletion_make_room() -> None:
    bench = bench_with({"retention_ms": 1000}, memory_bytes_max=2 * MIB, retention_check_interval_ms=1000)
    bench.create("other", uuid.UUID(int=2))
    while bench.engine.accepts_writes():
        bench.append(b"x" * 500_000)
    bench.settle()
    bench.clock.advance(2000)
    bench.engine.tick()
    assert not refused(bench)
    while bench.engine.accepts_writes():
        bench.append(b"x" * 500_000, topic_id=uuid.UUID(int=2))
    assert refused(bench)
    bench.engine.remove(PartitionId(uuid.UUID(int=2), 0))
    assert not refused(bench)


def test_a_removed_log_refuses_everything() -> None:
    bench = bench_with({})
    bench.append(b"x")
    log = the_log(bench)
    bench.engine.remove(PARTITION)
    bench.settle()
    bench.engine.tick()
    assert (log.state, bench.engine.used_bytes) == (LogState.OFFLINE, 0)
    batch = make_batch(b"y")
    for attempt in (
        lambda: log.append(batch, check_batch(batch), 0),
        lambda: log.read(0, 1, end=1, one_batch_at_least=True, wait=True),
        lambda: log.delete_records(0),
    ):
        with pytest.raises(KafkaError) as raised:
            attempt()
        assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR


class Watcher(SilentObserver):
    def __init__(self) -> None:
        self.removed = asyncio.Event()

    def segments_removed(self, count: int) -> None:
        if count:
            self.removed.set()


def test_the_engine_drives_itself() -> None:
    """With its own thread and the real clock: expired records go, and closing ends it."""

    async def run() -> None:
        watcher = Watcher()
        engine = MemoryEngine(StorageSettings(retention_check_interval_ms=1), worker=InlineWorker(), observer=watcher)
        engine.start(lambda log: None, asyncio.get_running_loop().call_soon_threadsafe)
        engine.declare("t", PARTITION, LogConfig(retention_ms=1000), 0)
        log = engine.log(PARTITION)
        batch = make_batch(b"old")
        log.append(batch, check_batch(batch), engine.clock.now_ms())
        async with asyncio.timeout(20):
            await watcher.removed.wait()
        engine.close()
        engine.tick()  # one that was on its way
        assert (log.log_start, log.log_end, values_of(log)) == (1, 1, [])

    asyncio.run(run())


def test_a_call_after_the_loop_has_ended_is_dropped() -> None:
    calls = LoopCalls()
    loop = asyncio.new_event_loop()
    calls.start(loop.call_soon_threadsafe)
    loop.close()
    called: list[int] = []
    calls.soon(called.append, 1)
    assert called == []
