"""The behaviour of every storage engine, whatever keeps the bytes."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.batch import check_batch, read_header, stamp
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.node.storage import ENGINES
from penstock.runtime.plugins import load_implementation
from penstock.storage.interface import Log, LogConfig, OpenStorage, StorageEngine
from penstock.storage.metadata.topics import TopicRow
from penstock.storage.observer import SilentObserver
from tests.support.waiting import wait_until
from tests.unit.storage.log_rig import NOW, make_batch, put, put_idempotent, values_of

pytestmark = pytest.mark.feature("P-01")

TOPIC = uuid.UUID(int=1)
PARTITION = PartitionId(TOPIC, 0)


class Bench:
    """An engine with a loop of its own: calls wait until somebody settles them."""

    def __init__(self, name: str, directory: Path) -> None:
        open_engine: OpenStorage = load_implementation("penstock.storage", name, ENGINES, "storage.engine")
        settings = StorageSettings(min_free_bytes=0, reserve_bytes=0)
        self.engine: StorageEngine = open_engine(directory, settings, SilentObserver())
        self._calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self.told: list[Log] = []
        if TOPIC not in {row.topic_id for row in self.engine.metadata.topics.all()}:
            self.engine.metadata.topics.create([(TopicRow("t", TOPIC, 1, False, 1), {})])
        self.engine.declare("t", PARTITION, LogConfig(), 0)
        self.engine.recover()
        self.engine.start(self._flushed, lambda call, *args: self._calls.append((call, args)))

    def _flushed(self, log: Log) -> None:
        self.told.append(log)

    @property
    def log(self) -> Log:
        return self.engine.log(PARTITION)

    def flush(self) -> None:
        def flushed() -> bool:
            while self._calls:
                call, args = self._calls.popleft()
                call(*args)
            return self.log.flushed == self.log.log_end

        wait_until(flushed, what="a flush")


@pytest.fixture(params=["disk", "memory", "cache"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(request.param, tmp_path / "data")
    yield bench
    bench.engine.close()


def test_what_is_appended_is_seen_when_it_is_flushed(bench: Bench) -> None:
    assert put(bench.log, b"a", b"b").base_offset == 0
    assert (bench.log.log_end, bench.log.flushed) == (2, 0)
    bench.flush()
    assert bench.told
    assert values_of(bench.log) == [b"a", b"b"]
    assert list(bench.engine.open_logs()) == [bench.log]


def test_a_duplicate_is_answered_and_not_stored(bench: Bench) -> None:
    first = put_idempotent(bench.log, 0, b"a")
    again = put_idempotent(bench.log, 0, b"a")
    assert (again.base_offset, again.duplicate, first.duplicate) == (0, True, False)
    with pytest.raises(KafkaError) as refused:
        put_idempotent(bench.log, 7, b"b")
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_readers_of_committed_records_stop_at_an_open_transaction(bench: Bench) -> None:
    batch = make_batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    bench.log.append(batch, check_batch(batch), NOW)
    bench.flush()
    assert (bench.log.stable_end(bench.log.flushed), len(bench.log.open_transactions())) == (0, 1)
    bench.log.append_marker(Marker(5, 0, 0, is_commit=False), NOW)
    bench.flush()
    assert bench.log.stable_end(bench.log.flushed) == 2
    assert [each.first_offset for each in bench.log.aborted_transactions(0, 2, wait=True)] == [0]


def test_limits_of_a_read_and_offsets_out_of_range(bench: Bench) -> None:
    for value in (b"a", b"b", b"c"):
        put(bench.log, value)
    bench.flush()
    one = bench.log.read(1, 1, end=bench.log.flushed, one_batch_at_least=True, wait=True)
    assert (one.first_offset, one.next_offset) == (1, 2)
    assert not bench.log.read(1, 1, end=bench.log.flushed, one_batch_at_least=False, wait=True).records
    with pytest.raises(KafkaError) as refused:
        bench.log.read(9, 1, end=9, one_batch_at_least=True, wait=True)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_front_can_be_forgotten(bench: Bench) -> None:
    put(bench.log, b"a")
    put(bench.log, b"b")
    bench.flush()
    bench.log.save_log_start(1)
    bench.log.delete_records(1, saved=True)
    assert (bench.log.log_start, values_of(bench.log)) == (1, [b"b"])


def test_records_are_found_by_time_and_epoch(bench: Bench) -> None:
    put(bench.log, b"a", timestamp=NOW)
    put(bench.log, b"b", timestamp=NOW + 10)
    bench.flush()
    found = bench.log.find_timestamp(NOW + 5, end=bench.log.flushed)
    assert found is not None
    assert found.offset == 1
    assert bench.log.epoch_end(0) == (0, 2)


def test_a_mirror_keeps_what_the_other_log_says(bench: Bench) -> None:
    batch = make_batch(b"a")
    stamp(batch, 41, 6)
    bench.log.append_mirrored(batch, read_header(batch), NOW)
    bench.flush()
    assert (bench.log.log_end, bench.log.epoch_at(41)) == (42, 6)
    bench.engine.restart_at(PARTITION, 100)
    assert (bench.log.log_start, bench.log.log_end) == (100, 100)


def test_a_removed_partition_is_gone(bench: Bench) -> None:
    put(bench.log, b"a")
    bench.flush()
    old = bench.log
    bench.engine.metadata.topics.delete(TOPIC)
    bench.engine.remove(PARTITION)
    with pytest.raises(KafkaError):
        put(old, b"b")
    with pytest.raises(KeyError):
        bench.engine.log(PARTITION)


def test_configs_reach_the_log(bench: Bench) -> None:
    bench.engine.configure(PARTITION, LogConfig(max_message_bytes=10))
    with pytest.raises(KafkaError) as refused:
        put(bench.log, b"too large")
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert bench.engine.accepts_writes()
