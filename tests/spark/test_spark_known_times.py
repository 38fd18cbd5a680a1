"""What the process beside Spark's driver remembers of the times in a partition, and where a range ends by it."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import LATEST, list_offsets
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading import known_times
from penstock_spark.reading.known_times import OFFSETS_MIN, KnownTimes
from penstock_spark.reading.planning.least_times import GRAIN, LeastTimes, Stretch
from penstock_spark.reading.planning.ranges import OffsetRange
from penstock_spark.reading.planning.spans import Span
from penstock_spark.reading.records import time_scan
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("S-01")
stretches = st.lists(st.tuples(st.integers(1, 2 * GRAIN), st.integers(0, 50)), max_size=40)

# --- values ----------------------------------------------------------------------------------------------------------


def learned(first: int, found: list[tuple[int, int]]) -> LeastTimes:
    times, end = LeastTimes(first), first
    for size, least in found:
        end += size
        times.add(end, least)
    return times


def needed_end(first: int, found: list[tuple[int, int]], until: int) -> int:
    """Behind the last stretch that may have a record of this time or an older one."""
    end = needed = first
    for size, least in found:
        end += size
        needed = end if least <= until else needed
    return needed


@given(stretches, st.integers(-1, 51))
def test_nothing_that_is_old_enough_is_left_out(found: list[tuple[int, int]], until: int) -> None:
    end, needed = learned(7, found).end_of(until), needed_end(7, found, until)
    assert needed <= end
    assert end - needed < GRAIN, "short stretches are put together, and no more than that"


@given(stretches, stretches, st.integers(-1, 51))
def test_what_lies_before_can_be_learned_later(
    before: list[tuple[int, int]], after: list[tuple[int, int]], until: int
) -> None:
    times = learned(0, before)
    times.go_on(learned(times.end, after))
    assert times.end == sum(size for size, _ in (*before, *after))
    assert needed_end(0, [*before, *after], until) <= times.end_of(until)
    assert times.end_of(until) - needed_end(0, [*before, *after], until) < 2 * GRAIN


def test_one_stretch_for_a_thousand_single_records() -> None:
    times = learned(0, [(1, 5 + number) for number in range(100 * GRAIN)])
    assert len(times) <= 101


# --- a broker --------------------------------------------------------------------------------------------------------

BATCH = 500


class Topic:
    """A partition whose records are a millisecond apart, but for those that come late."""

    def __init__(self, client: RawClient, cluster: Cluster) -> None:
        self._client, self._cluster = client, cluster
        self.name = client.create_topic(configs={"retention.ms": "-1"})
        self.start = now_ms() - 10_000_000
        self.times: list[int] = []

    def of(self, client: RawClient, cluster: Cluster) -> Topic:
        """The same topic, over other connections."""
        self._client, self._cluster = client, cluster
        return self

    def put(self, times: list[int]) -> None:
        records = [NewRecord(None, b"v", (), each) for each in times]
        self._client.produce(self.name, bytes(build_batch(records, timestamp=times[0])))
        self.times += times

    def grow(self, batches: int) -> None:
        for _ in range(batches):
            first = self.start + len(self.times)
            self.put(list(range(first, first + BATCH)))

    def range_until(self, until: int, first: int = 0) -> OffsetRange:
        place = TopicPartition(self.name, 0)
        end = list_offsets(self._cluster, {place: LATEST}, committed=True)[place]
        return OffsetRange(self.name, 0, first, end, within=Span(until_ms=until))

    def shortened(self, known: KnownTimes, until: int, first: int = 0) -> int:
        """The end of a range, which has all records of this time and before."""
        ids = {name: topic.topic_id for name, topic in self._cluster.topics([self.name]).items()}
        (found,) = known.shortened(self._cluster, [self.range_until(until, first)], ids, committed=True)
        last = max((offset for offset, each in enumerate(self.times) if each <= until), default=-1)
        assert max(first, last + 1) <= found.end
        return found.end


def at(broker: BrokerProcess) -> Cluster:
    return Cluster([Address(broker.host, broker.port)], timeout_s=30)


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine looks through as much as an idle one."""
    monkeypatch.setattr(known_times, "SCAN_S_MAX", 60.0)


@pytest.fixture
def topic_of_times(client: RawClient, cluster: Cluster) -> Topic:
    made = Topic(client, cluster)
    made.grow(2 * OFFSETS_MIN // BATCH)
    return made


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[tuple[int, int]]]:
    """The offsets that were looked through since it was called last."""
    seen: list[tuple[int, int]] = []
    least_times = time_scan.least_times

    def watched(cluster: Cluster, place: TopicPartition, first: int, end: int, *, committed: bool) -> Iterator[Stretch]:
        seen.append((first, end))
        return least_times(cluster, place, first, end, committed=committed)

    monkeypatch.setattr(time_scan, "least_times", watched)

    def since() -> list[tuple[int, int]]:
        found = seen.copy()
        seen.clear()
        return found

    return since


Fetched = Callable[[], list[tuple[int, int]]]


def test_records_are_looked_through_once(topic_of_times: Topic, fetched: Fetched) -> None:
    known, start = KnownTimes(), topic_of_times.start
    assert topic_of_times.shortened(known, start + 3000) <= 3001 + GRAIN + BATCH
    assert fetched() == [(0, 2 * OFFSETS_MIN)]
    assert topic_of_times.shortened(known, start + 9000) <= 9001 + GRAIN + BATCH
    assert topic_of_times.shortened(known, start - 1) == 0
    assert fetched() == []
    topic_of_times.grow(1)
    topic_of_times.put([start + 42])
    assert topic_of_times.shortened(known, start + 41) <= 42 + GRAIN + BATCH
    assert fetched() == [(2 * OFFSETS_MIN, 2 * OFFSETS_MIN + BATCH + 1)]
    assert topic_of_times.shortened(known, start + 42) == len(topic_of_times.times), "it came late"


def test_what_lies_before_is_looked_through_when_it_is_asked_for(topic_of_times: Topic, fetched: Fetched) -> None:
    known, start = KnownTimes(), topic_of_times.start
    topic_of_times.shortened(known, start + 8000, first=7000)
    topic_of_times.shortened(known, start + 8000, first=2000)
    assert fetched() == [(7000, 2 * OFFSETS_MIN), (2000, 7000)]
    topic_of_times.shortened(known, start + 2500)
    assert fetched() == [(0, 2000)]


def test_random_times(client: RawClient, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_times, "OFFSETS_MIN", 1)
    monkeypatch.setattr(known_times, "STEP", 300)
    random_, topic, known = random.Random(11), Topic(client, cluster), KnownTimes()
    for _ in range(30):
        for _ in range(random_.randrange(4)):
            at = topic.start + len(topic.times)
            topic.put([at + random_.choice([0, 1, 500, -700, -3000]) for _ in range(random_.randrange(1, 400))])
        end = len(topic.times)
        topic.shortened(known, topic.start + random_.randrange(-3500, end + 600), random_.randrange(end + 1))


def test_there_is_little_time_for_it(topic_of_times: Topic, fetched: Fetched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches for each query, here."""
    known, end = KnownTimes(), 2 * OFFSETS_MIN
    ticks = itertools.count(step=0.2)
    with monkeypatch.context() as slow:
        slow.setattr(known_times, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
        slow.setattr(known_times, "SCAN_S_MAX", 0.5)
        for number in range(3):
            assert topic_of_times.shortened(known, topic_of_times.start) == end
            assert fetched() == [(number * 2 * BATCH, end)]
    assert topic_of_times.shortened(known, topic_of_times.start) <= GRAIN + BATCH


def test_what_there_was_time_for_is_kept_backwards_too(
    topic_of_times: Topic, fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, start = KnownTimes(), topic_of_times.start
    monkeypatch.setattr(known_times, "OFFSETS_MIN", 1)
    topic_of_times.shortened(known, start, first=18_000)
    assert fetched() == [(18_000, 2 * OFFSETS_MIN)]
    ticks = itertools.count(step=0.1)
    with monkeypatch.context() as slow:
        slow.setattr(known_times, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
        slow.setattr(known_times, "SCAN_S_MAX", 1.0)
        for _ in range(40):
            if topic_of_times.shortened(known, start) <= GRAIN + BATCH:
                break
    steps = fetched()
    assert steps[-1][0] == 0, steps


def test_a_topic_that_is_made_again_is_another_one(
    client: RawClient, cluster: Cluster, topic_of_times: Topic, fetched: Fetched
) -> None:
    known = KnownTimes()
    topic_of_times.shortened(known, topic_of_times.start)
    client.delete_topic(topic_of_times.name)
    wait_until(lambda: not cluster.topics([topic_of_times.name]), what="it is gone")
    client.create_topic(topic_of_times.name, configs={"retention.ms": "-1"})
    topic_of_times.times.clear()
    topic_of_times.grow(2 * OFFSETS_MIN // BATCH)
    fetched()
    topic_of_times.shortened(known, topic_of_times.start)
    assert fetched() == [(0, 2 * OFFSETS_MIN)]


def test_a_log_that_was_restored_is_another_one(own_broker: BrokerProcess, tmp_path: Path) -> None:
    """It has the same topic id, and may have the same epoch."""
    known, backup = KnownTimes(), tmp_path / "backup"
    data = Path(own_broker.directory) / "data"
    with RawClient(own_broker.host, own_broker.port) as client, at(own_broker) as cluster:
        topic = Topic(client, cluster)
        topic.grow(2 * OFFSETS_MIN // BATCH)
    own_broker.stop()
    shutil.copytree(data, backup)
    for late_ms in (None, 0):
        own_broker.start()
        with RawClient(own_broker.host, own_broker.port) as client, at(own_broker) as cluster:
            topic = topic.of(client, cluster)
            if late_ms is None:
                topic.grow(2)
            else:
                topic.times = topic.times[: 2 * OFFSETS_MIN]
                topic.put([topic.start + late_ms] * BATCH)
                topic.put([topic.start + 5 * OFFSETS_MIN] * BATCH)
            topic.shortened(known, topic.start + 100)
        own_broker.stop()
        shutil.rmtree(data)
        shutil.copytree(backup, data)


def test_other_ranges_stay_as_they_are(topic_of_times: Topic, cluster: Cluster, fetched: Fetched) -> None:
    known, whole = KnownTimes(), topic_of_times.range_until(topic_of_times.start)
    ids = {topic_of_times.name: cluster.topics([topic_of_times.name])[topic_of_times.name].topic_id}
    others = [
        replace(whole, within=Span(since_ms=5)),
        replace(whole, is_open=True),
        replace(whole, end=OFFSETS_MIN - 1),
    ]
    assert known.shortened(cluster, others, ids, committed=True) == others
    assert known_times.shortened(cluster, [whole], ids, committed=True) == [whole], "this process plans one query"
    gone = replace(whole, first=5 * OFFSETS_MIN, end=7 * OFFSETS_MIN)
    assert known.shortened(cluster, [gone], ids, committed=True) == [gone], "tasks will say what is wrong"
    assert fetched() == [(5 * OFFSETS_MIN, 7 * OFFSETS_MIN)]
