"""Crowds of silent connections at one door: clients of the others get in, storage can open its files, and the node
says how it is.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.protocol.push.messages import CreateTopic
from tests.doors.crowd import ScarceProcess, SteadyClient, crowd, is_closed
from tests.support import batches
from tests.support.http_client import ask
from tests.support.metrics_page import metric, metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

FILES_MAX = 600
PLACES = 250  # half of what is left of them
CROWD = 900
TOPICS = 30
P99_MAX_S = 0.5  # a round trip takes a millisecond; a busy machine may take a hundred times that


@pytest.fixture(scope="module")
def scarce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScarceProcess]:
    process = ScarceProcess(tmp_path_factory.mktemp("scarce"), FILES_MAX)
    process.prepare()
    process.start()
    yield process
    process.stop()


def ready(process: PenstockProcess) -> tuple[int, dict[str, object]]:
    answer = ask(f"http://127.0.0.1:{process.http_port}/health/ready")
    return answer.status, answer.json


def produce_to_new_topics(process: PenstockProcess) -> None:
    """Each with a connection of its own, to a topic whose log is not open."""
    with RawClient(process.host, process.port) as client:
        topics = [client.create_topic(unique_name("crowd")) for _ in range(TOPICS)]
    for topic in topics:
        with RawClient(process.host, process.port) as client:
            assert client.appended(topic, batches.values(b"still here")) == 0


def test_the_settings_give_way_to_what_the_system_allows(scarce: ScarceProcess) -> None:
    log = scarce.log_file.read_text()
    assert "the system allows 600 open files" in log
    assert "ulimit -Hn" in log
    assert metric(scarce, "penstock_connections_max") == PLACES


@pytest.mark.parametrize("door", ["http", "push", "kafka"])
def test_a_silent_crowd_keeps_nobody_out(scarce: ScarceProcess, door: str) -> None:
    port = {"http": scarce.http_port, "push": scarce.push_port, "kafka": scarce.port}[door]
    with SteadyClient(scarce.host, scarce.port) as steady, crowd(port, CROWD) as silent:
        produce_to_new_topics(scarce)
        assert steady.p99() < P99_MAX_S
        with PushClient(scarce.push_port) as push:
            push.ask(CreateTopic(unique_name("crowd"), 1))
        status, report = ready(scarce)
        assert (status, report["status"]) == (200, "ready"), report
        assert scarce.open_files < FILES_MAX - 100
        wait_until(lambda: sum(map(is_closed, silent)) >= CROWD - PLACES, what="the older ones have made room")
        dropped = metric_sum(scarce, "penstock_connections_dropped_total", f'door="{door}",reason="room"')
        assert dropped >= CROWD - PLACES
        assert metric_sum(scarce, "penstock_connections_refused_total", "door") == 0


def kafka_client(process: PenstockProcess) -> RawClient:
    client = RawClient(process.host, process.port)
    client.call("api_versions", 0)
    return client


def push_client(process: PenstockProcess) -> PushClient:
    client = PushClient(process.push_port)
    client.ask(CreateTopic("held", 1))
    return client


@pytest.mark.parametrize(("door", "connect", "places"), [("kafka", kafka_client, 35), ("push", push_client, 30)])
def test_a_full_node_says_so_to_probes(
    tmp_path: Path, door: str, connect: Callable[[PenstockProcess], RawClient | PushClient], places: int
) -> None:
    """Of forty connections a few are kept for Kafka clients and for probes; nobody is closed who has sent a request."""
    process = PenstockProcess(tmp_path, "limits:\n  connections_max: 40\n")
    process.prepare()
    process.start()
    with ExitStack() as stack:
        stack.callback(process.stop)
        wait_until(lambda: ready(process)[0] == 200, what="the node is ready")
        clients = [connect(process) for _ in range(places)]
        for client in clients:
            stack.callback(client.close)
        port = process.port if door == "kafka" else process.push_port
        with socket.create_connection((process.host, port)) as refused:
            wait_until(lambda: is_closed(refused), what="there is no room")
        status, report = ready(process)
        assert (status, report["status"]) == (503, "not ready")
        assert "limits.connections_max" in str(report["problems"])
        assert metric_sum(process, "penstock_connections_refused_total", f'door="{door}"') == 1
        assert metric_sum(process, "penstock_connections_dropped_total", "door") == 0
        assert not any(is_closed(socket_of(each)) for each in clients)


def socket_of(client: RawClient | PushClient) -> socket.socket:
    return client.socket if isinstance(client, PushClient) else socket.socket(fileno=os.dup(client.fileno()))
