"""Finding topics, leaders and offsets, reading raw batches, and what happens when brokers are not there."""

from __future__ import annotations

import socket
import time

import pytest

from penstock.client.address import Address, parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.fetches import receive_fetch, send_fetch
from penstock.client.offsets import EARLIEST, LATEST, NOT_FOUND, bounds, commit_offsets, committed_offsets, list_offsets
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import API_VERSIONS
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name


def batch(*values: str, timestamp: int | None = None) -> bytes:
    records = [NewRecord(None, value.encode()) for value in values]
    return bytes(build_batch(records, timestamp=timestamp or now_ms()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("a:1, b:2 ,", [("a", 1), ("b", 2)]),
        ("[::1]:9092", [("::1", 9092)]),
    ],
)
def test_addresses(text: str, expected: list[tuple[str, int]]) -> None:
    assert list(parse_addresses(text)) == expected


@pytest.mark.parametrize("text", ["", " , ", "localhost", "localhost:", ":9092", "a:b", "a:0", "a:70000", "a:-1"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_addresses(text)


def test_topics_are_found_by_name_and_all_together(cluster: Cluster, client: RawClient) -> None:
    name = client.create_topic(partitions=3)
    assert cluster.topics([name, "no-such-topic"])[name].partition_count == 3
    assert "no-such-topic" not in cluster.topics([name, "no-such-topic"])
    assert name in cluster.topics()


def test_offsets_by_edge_and_by_time(cluster: Cluster, client: RawClient) -> None:
    name = client.create_topic(partitions=2)
    place, empty = TopicPartition(name, 0), TopicPartition(name, 1)
    now = now_ms()
    client.produce(name, batch("a", "b", timestamp=now))
    client.produce(name, batch("c", timestamp=now + 1000))
    assert bounds(cluster, [place, empty], committed=True) == {place: (0, 3), empty: (0, 0)}
    assert list_offsets(cluster, {place: now + 500, empty: now + 500}, committed=False) == {place: 2, empty: NOT_FOUND}
    assert list_offsets(cluster, {place: LATEST, empty: EARLIEST}, committed=False) == {place: 3, empty: 0}


def test_a_partition_that_is_not_there(cluster: Cluster, topic: str) -> None:
    with pytest.raises(KafkaError) as missing:
        list_offsets(cluster, {TopicPartition(topic, 7): LATEST}, committed=False)
    assert missing.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert f"{topic}-7" in str(missing.value)


def test_raw_batches_come_as_they_were_written(cluster: Cluster, client: RawClient, topic: str) -> None:
    client.produce(topic, batch("a", "b"))
    client.produce(topic, batch("c"))
    place = TopicPartition(topic, 0)
    connection = cluster.leader(place)
    first, second = (send_fetch(connection, place, offset, committed=True, max_bytes=1 << 20) for offset in (0, 2))
    assert connection.call(API_VERSIONS, 0).error_code == 0  # of somebody else
    later = receive_fetch(second)
    fetched = receive_fetch(first)
    assert (fetched.error, fetched.high_watermark, fetched.log_start, fetched.aborted) == (0, 3, 0, ())
    assert [header.record_count for _, header in iter_headers(fetched.records)] == [2, 1]
    assert [header.base_offset for _, header in iter_headers(later.records)] == [2]


def test_progress_of_a_group_without_members(cluster: Cluster, topic: str) -> None:
    group = unique_name("group")
    assert committed_offsets(cluster, group) == {}
    commit_offsets(cluster, group, {TopicPartition(topic, 0): 5})
    assert committed_offsets(cluster, group) == {TopicPartition(topic, 0): 5}


def test_a_broker_that_is_not_there_is_named_after_a_bounded_time() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        address = Address(*taken.getsockname())
        started = time.monotonic()
        with Cluster([address], timeout_s=1.0) as cluster, pytest.raises(BrokerUnavailable, match=str(address)):
            cluster.patiently(cluster.topics)
        assert time.monotonic() - started < 20


def test_a_broker_that_does_not_answer(cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = Address(*deaf.getsockname())
        with (
            Cluster([address], timeout_s=1.0, request_timeout_s=0.3) as other,
            pytest.raises(BrokerUnavailable, match="no answer"),
        ):
            other.patiently(other.topics)


def test_rubbish_instead_of_an_answer() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Cluster([Address(*server.getsockname())], timeout_s=0.5, request_timeout_s=0.3) as cluster,
    ):
        connection = cluster.any_connection()
        peer, _ = server.accept()
        with peer:
            sent = connection.send(3, 12, b"", flexible=True)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            with pytest.raises(BrokerUnavailable):
                sent.answer()


@pytest.mark.feature("F-13")
def test_a_restart_of_the_broker_is_waited_for(own_broker: BrokerProcess) -> None:
    with Cluster([Address(own_broker.host, own_broker.port)], timeout_s=30) as cluster:
        with RawClient(own_broker.host, own_broker.port) as client:
            name = client.create_topic()
            client.produce(name, batch("a"))
        place = TopicPartition(name, 0)
        assert list_offsets(cluster, {place: LATEST}, committed=False) == {place: 1}
        own_broker.restart()
        assert list_offsets(cluster, {place: LATEST}, committed=False) == {place: 1}


@pytest.mark.feature("F-13")
def test_a_broker_that_says_nothing_is_waited_for_a_few_times_only(broker: BrokerProcess) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        silent = Address(*deaf.getsockname())
        fillers = _fill_backlog(silent)
        bootstrap = [silent, Address(broker.host, broker.port)]
        with Cluster(bootstrap, request_timeout_s=0.3) as cluster:
            assert cluster.topics() is not None, "the other one answers all the same"
            started = time.monotonic()
            for _ in range(20):
                with pytest.raises(BrokerUnavailable):
                    cluster.connection(silent)
            passed = time.monotonic() - started
            with pytest.raises(BrokerUnavailable, match="asked again in"):
                cluster.connection(silent)
        for filler in fillers:
            filler.close()
    assert passed < 10 * 0.3, "it was waited for every time"


def _fill_backlog(address: Address) -> list[socket.socket]:
    """Until the system drops attempts to connect instead of answering: like a machine that is gone."""
    fillers = []
    for _ in range(8):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(address)
        fillers.append(filler)
    return fillers
