"""Large output that is sent while tasks still compute: each record is there once, whoever dies meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.companion.stages import Stages
from penstock_spark.errors import DataLost
from penstock_spark.user_options import Broker
from penstock_spark.writing import ahead as ahead_module
from penstock_spark.writing.ahead import Ahead, committed_ahead
from penstock_spark.writing.exactly_once import Batches, ExactlyOnce, NumberedWork, UnrepeatedWork, write_atomically
from penstock_spark.writing.idle_writers import writer
from penstock_spark.writing.large_output import LargeOutput
from penstock_spark.writing.stage_files import StageDirectory
from penstock_spark.writing.task_output import TaskOutput, gathered
from tests.spark.test_spark_exactly_once import TIMEOUT_MS, written
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("S-02", "X-02")]

BATCHES = 6


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StageDirectory]:
    stages = Stages()
    _, found = stages.open(str(tmp_path))
    assert found is not None
    yield found
    stages.close()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_module, "AFTER_S", 0)


@pytest.fixture
def topic(client: RawClient) -> str:
    return client.create_topic(unique_name("out"), partitions=2)


def address_of(broker: BrokerProcess) -> Address:
    return Address(broker.host, broker.port)


def unrepeated(broker: BrokerProcess) -> UnrepeatedWork:
    return UnrepeatedWork(Cluster([address_of(broker)], timeout_s=20), unique_name("write"), TIMEOUT_MS)


def numbered(broker: BrokerProcess, name: str, number: int) -> NumberedWork:
    of = Broker(addresses=(address_of(broker),), client_id="test", timeout_s=20.0, request_timeout_s=20.0)
    return NumberedWork(writer(of, name, TIMEOUT_MS), number)


class Task:
    """One that writes as long as it is told to."""

    def __init__(self, cluster: Cluster, directory: StageDirectory, topic: str, first: int = 0) -> None:
        self._large, self._topic, self._next = LargeOutput(cluster, 0, directory), topic, first

    def write(self, count: int = BATCHES) -> None:
        for _ in range(count):
            batch = build_batch([NewRecord(b"k", b"%d" % self._next)], timestamp=now_ms())
            for partition in range(2):
                self._large.put(TopicPartition(self._topic, partition), bytearray(batch))
            self._next += 1

    def end(self) -> TaskOutput:
        output = TaskOutput("query", self._next)
        self._large.finish(output)
        return output


def committed(address: Address, topic: str, count: int) -> list[list[int]]:
    """What can be read once so many records of each partition can: a commit is answered when it is decided."""
    wait_until(lambda: all(len(each) >= count for each in written(address, topic)), what="the end of a transaction")
    return written(address, topic)


def stored(cluster: Cluster, topic: str) -> int:
    """Records and markers in the first partition, visible or not."""
    place = TopicPartition(topic, 0)
    first, end = bounds(cluster, [place], committed=False)[place]
    return end - first


def wait_for(cluster: Cluster, topic: str, count: int) -> None:
    wait_until(lambda: stored(cluster, topic) >= count, what="what was sent ahead")


@pytest.mark.usefixtures("at_once")
def test_it_is_sent_while_tasks_write_and_seen_when_it_is_committed(
    broker: BrokerProcess, cluster: Cluster, directory: StageDirectory, topic: str
) -> None:
    ahead = Ahead(directory, unrepeated(broker))
    first, second = (Task(cluster, directory, topic, start) for start in (0, 100))
    first.write()
    wait_for(cluster, topic, BATCHES)
    second.write()
    wait_for(cluster, topic, 2 * BATCHES)
    assert written(address_of(broker), topic) == [[], []]
    first.write()
    inline = TaskOutput("query", 1, [(topic, 0, build_batch([NewRecord(b"k", b"7")], timestamp=now_ms()))])
    assert committed_ahead(ahead, [first.end(), second.end()], lambda _: [inline])
    one, other = committed(address_of(broker), topic, 3 * BATCHES)
    assert sorted(other) == [*range(2 * BATCHES), *range(100, 100 + BATCHES)]
    assert sorted(one) == sorted([*other, 7])
    assert [each for each in other if each < 100] == list(range(2 * BATCHES)), "a task's order is kept"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kind", ["unrepeated", "numbered"])
def test_a_task_that_was_run_again_is_written_once(
    broker: BrokerProcess, cluster: Cluster, directory: StageDirectory, topic: str, kind: str
) -> None:
    name = unique_name("query")
    work = unrepeated(broker) if kind == "unrepeated" else numbered(broker, name, 1)
    ahead = Ahead(directory, work)
    lost, again = (Task(cluster, directory, topic) for _ in range(2))
    lost.write()
    wait_for(cluster, topic, BATCHES)
    again.write()
    output = again.end()
    assert not committed_ahead(ahead, [output], lambda _: [])
    assert written(address_of(broker), topic) == [[], []]
    write_atomically(cluster, unique_name("write"), TIMEOUT_MS, gathered(cluster, [output]))
    assert committed(address_of(broker), topic, BATCHES) == [list(range(BATCHES))] * 2


@pytest.mark.usefixtures("at_once")
def test_a_transaction_is_not_held_open_for_slow_tasks(
    broker: BrokerProcess,
    cluster: Cluster,
    directory: StageDirectory,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead_module, "OPEN_S_MAX", 0.2)
    ahead = Ahead(directory, unrepeated(broker))
    task = Task(cluster, directory, topic)
    task.write()
    wait_until(lambda: ahead.gave_up, what="the end of its patience")
    wait_for(cluster, topic, BATCHES + 1)  # with the marker of the abort
    place = TopicPartition(topic, 0)
    wait_until(lambda: bounds(cluster, [place], committed=True)[place].end == stored(cluster, topic), what="the abort")
    task.write()
    assert not committed_ahead(ahead, [task.end()], lambda _: [])
    assert written(address_of(broker), topic) == [[], []]


@pytest.mark.usefixtures("at_once")
def test_what_is_sent_in_vain_is_bounded(
    broker: BrokerProcess,
    cluster: Cluster,
    directory: StageDirectory,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead_module, "BYTES_MAX", 0)
    ahead = Ahead(directory, unrepeated(broker))
    task = Task(cluster, directory, topic)
    task.write()
    wait_for(cluster, topic, 1)
    time.sleep(10 * ahead_module.PAUSE_S)  # it would go on meanwhile
    assert stored(cluster, topic) == 1
    assert committed_ahead(ahead, [task.end()], lambda _: [])
    assert committed(address_of(broker), topic, BATCHES) == [list(range(BATCHES))] * 2


def test_a_quick_write_sends_nothing_ahead(
    broker: BrokerProcess, cluster: Cluster, directory: StageDirectory, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead_module, "AFTER_S", 60)
    before = threading.active_count()
    ahead = Ahead(directory, unrepeated(broker))
    task = Task(cluster, directory, topic)
    task.write()
    assert not committed_ahead(ahead, [task.end()], lambda _: [])
    assert stored(cluster, topic) == 0
    assert threading.active_count() == before


@pytest.mark.usefixtures("at_once")
def test_a_write_that_fails_is_aborted(
    broker: BrokerProcess, cluster: Cluster, directory: StageDirectory, topic: str
) -> None:
    ahead = Ahead(directory, unrepeated(broker))
    Task(cluster, directory, topic).write()
    wait_for(cluster, topic, BATCHES)
    ahead.drop()
    ahead.drop()
    wait_for(cluster, topic, BATCHES + 1)
    assert written(address_of(broker), topic) == [[], []]


@pytest.mark.usefixtures("at_once")
def test_a_batch_that_was_written_before_is_not_sent(
    broker: BrokerProcess, cluster: Cluster, directory: StageDirectory, topic: str
) -> None:
    name = unique_name("query")
    work = numbered(broker, name, 3)
    assert work.open()
    assert work.commit()
    for number in (3, 2):
        ahead = Ahead(directory, numbered(broker, name, number))
        task = Task(cluster, directory, topic)
        task.write()
        wait_until(ahead._over.is_set, what="a look at the marker")
        assert not committed_ahead(ahead, [task.end()], lambda _: [])
    assert stored(cluster, topic) == 0


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("again", [True, False])
def test_a_broker_that_dies_meanwhile(own_broker: BrokerProcess, directory: StageDirectory, again: bool) -> None:
    with RawClient(own_broker.host, own_broker.port) as client:
        topic = client.create_topic(unique_name("out"), partitions=2)
    name = unique_name("query")
    with Cluster([address_of(own_broker)], timeout_s=20) as cluster:
        ahead = Ahead(directory, numbered(own_broker, name, 1))
        task = Task(cluster, directory, topic)
        task.write()
        wait_for(cluster, topic, BATCHES)
        own_broker.kill9()
        if again:
            task.write()  # which nobody takes
        own_broker.start()
        cluster.forget()
        output = task.end()
        assert not committed_ahead(ahead, [output], lambda _: [])
        of = Broker(addresses=(address_of(own_broker),), client_id="test", timeout_s=20.0, request_timeout_s=20.0)
        with writer(of, name, TIMEOUT_MS) as once:
            assert once.write(1, lambda: gathered(cluster, [output]))
    count = 2 * BATCHES if again else BATCHES
    assert committed(address_of(own_broker), topic, count) == [list(range(count))] * 2


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("aborts", [False, True])
def test_a_query_that_is_stopped_while_it_commits_has_written_nothing(
    broker: BrokerProcess, directory: StageDirectory, topic: str, aborts: bool
) -> None:
    """Another thread ends the write, and perhaps Spark aborts the batch, between the files of two tasks."""
    name = unique_name("query")
    with Cluster([address_of(broker)], timeout_s=20) as cluster:
        work = numbered(broker, name, 1)
        ahead = Ahead(directory, work)
        first, second = Task(cluster, directory, topic), Task(cluster, directory, topic, first=BATCHES)
        first.write()
        wait_for(cluster, topic, BATCHES)
        ahead.is_under_way()
        second.write()
        outputs = [first.end(), second.end()]
        sends, reached, go_on = 0, threading.Event(), threading.Event()
        send = work.send

        def sent(batches: Batches) -> None:
            nonlocal sends
            sends += 1
            if sends == 4:
                reached.set()
                assert go_on.wait(20)
            send(batches)

        work.send = sent  # type: ignore[method-assign]
        outcome: list[object] = []

        def commit() -> None:
            try:
                outcome.append(committed_ahead(ahead, outputs, lambda _: []))
            except DataLost as error:
                outcome.append(error)

        committing, dropping = threading.Thread(target=commit), threading.Thread(target=ahead.drop)
        committing.start()
        assert reached.wait(20)
        if aborts:
            ExactlyOnce(cluster, name, TIMEOUT_MS).abort()
        dropping.start()
        wait_until(lambda: ahead._is_dropped, what="it is dropped")
        go_on.set()
        committing.join(30)
        dropping.join(30)
        assert not committing.is_alive()
        assert not dropping.is_alive()
        assert isinstance(outcome[0], DataLost), outcome
        assert ExactlyOnce(cluster, name, TIMEOUT_MS).begin() is None, "there is a marker"
        assert written(address_of(broker), topic) == [[], []]
