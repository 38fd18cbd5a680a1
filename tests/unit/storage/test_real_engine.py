"""The engine with its real threads and its real worker process, as a node runs it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import PartitionId
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.interface import LogConfig
from penstock.storage.log.log import DiskLog
from penstock.storage.metadata.topics import TopicRow
from tests.support.waiting import wait_until

PARTITION = PartitionId(uuid.UUID(int=9), 0)
KEYED = LogConfig(cleanup_compact=True, cleanup_delete=False, segment_bytes=1_000_000, min_cleanable_dirty_ratio=0.01)


class Loop:
    """The calls of an event loop, run by the thread that waits."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]] = SimpleQueue()

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        self._calls.put((function, args))

    def run_until(self, condition: Callable[[], bool], what: str) -> None:
        def step() -> bool:
            while True:
                try:
                    function, args = self._calls.get_nowait()
                except Empty:
                    return condition()
                function(*args)

        wait_until(step, what=what, within_s=30)


def open_engine(root: Path, loop: Loop) -> DiskEngine:
    settings = StorageSettings(min_free_bytes=0, reserve_bytes=0, compaction_check_interval_ms=10)
    engine = DiskEngine.open(root, settings)
    if not engine.metadata.topics.all():
        engine.metadata.topics.create([(TopicRow("keyed", PARTITION.topic_id, 1, False, 1), {})])
    engine.declare("keyed", PARTITION, KEYED, engine.metadata.boot)
    engine.start(lambda log: None, loop.call_soon)
    return engine


def append(log: DiskLog, count: int) -> None:
    for number in range(count):
        records = [NewRecord(f"k{number % 7}-{index}".encode(), bytes(1000)) for index in range(10)]
        batch = build_batch(records, timestamp=number)
        log.append(batch, read_header(batch), number)


@pytest.mark.feature("P-05")
def test_flushed_compacted_and_recovered_by_the_worker_process(tmp_path: Path) -> None:
    loop = Loop()
    engine = open_engine(tmp_path, loop)
    log = engine.log(PARTITION)
    append(log, 300)
    loop.run_until(lambda: log.flushed == 3000, "everything is flushed")
    before = log.size_bytes
    loop.run_until(lambda: log.size_bytes < before / 2, "the log is compacted")
    assert engine.context.worker.pid is not None  # type: ignore[attr-defined]
    append(log, 50)
    loop.run_until(lambda: log.flushed == 3500, "everything is flushed")
    # As kill -9 leaves it: nothing is closed but the lock, so that this process may take it again.
    engine.maintenance.stop()
    engine.commit.stop()
    assert engine._lock is not None
    engine._lock.release()
    again = open_engine(tmp_path, loop)
    assert again.context.worker.pid is not None  # type: ignore[attr-defined]
    recovered = again.log(PARTITION)
    assert recovered.log_end == 3500
    assert recovered.unsnapshotted_bytes == 0
    again.close()
    engine.context.worker.close()
    engine.context.disk_thread.close()
