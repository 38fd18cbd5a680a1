"""Clients that are slow on purpose, before and within requests and answers: each is closed, and others do not notice.

The limits are about a second here; a connection that is open after half a minute would be open for ever.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest

from penstock.protocol.push.frames import HEADER, FrameType
from penstock.protocol.push.messages import Heartbeat, encode
from penstock.topology.pipe.wire import PullRequest, Wanted, encode_request
from tests.doors.crowd import CLOSED_WITHIN_S, SteadyClient, byte_by_byte, drips_until_closed, is_closed, is_reset
from tests.support import batches
from tests.support.http_client import ask
from tests.support.metrics_page import metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

CONFIG = """\
http: {header_timeout_ms: 500, idle_timeout_ms: 500, stall_timeout_ms: 1000}
kafka: {first_request_timeout_ms: 500}
push: {heartbeat_interval_ms: 500}
pipe: {answer_bytes_max: 64 MiB}
"""
P99_MAX_S = 0.5  # a round trip takes a millisecond; a busy machine may take a hundred times that
HEAD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
Connect = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("slow"), CONFIG)
    process.prepare()
    process.start()
    wait_until(lambda: _is_ready(process), what="the HTTP port is open")
    yield process
    process.stop()


def _is_ready(process: PenstockProcess) -> bool:
    try:
        return ask(f"http://127.0.0.1:{process.http_port}/health/ready").status == 200
    except OSError:
        return False


@pytest.fixture(autouse=True, scope="module")
def _others_do_not_notice(node: PenstockProcess) -> Iterator[None]:
    with SteadyClient(node.host, node.port) as steady:
        yield
        assert steady.p99_so_far() < P99_MAX_S


@pytest.fixture
def http(node: PenstockProcess) -> Iterator[socket.socket]:
    with socket.create_connection((node.host, node.http_port), timeout=30) as sock:
        yield sock


@pytest.fixture
def push(node: PenstockProcess) -> Iterator[socket.socket]:
    with socket.create_connection((node.host, node.push_port), timeout=30) as sock:
        yield sock


@pytest.fixture
def kafka(node: PenstockProcess) -> Iterator[socket.socket]:
    with socket.create_connection((node.host, node.port), timeout=30) as sock:
        yield sock


@pytest.mark.parametrize("door", ["http", "push", "kafka"])
def test_silence(node: PenstockProcess, door: str, request: pytest.FixtureRequest) -> None:
    before = metric_sum(node, "penstock_connections_dropped_total", f'door="{door}",reason="timeout"')
    sock = request.getfixturevalue(door)
    wait_until(lambda: is_closed(sock), what="a silent client is closed", within_s=CLOSED_WITHIN_S)
    assert metric_sum(node, "penstock_connections_dropped_total", f'door="{door}",reason="timeout"') == before + 1


def test_an_http_header_that_never_ends(http: socket.socket) -> None:
    drips_until_closed(http, chain([HEAD], byte_by_byte(b"X-More: 1\r\n")))


def test_an_http_header_that_never_ends_on_a_connection_in_use(node: PenstockProcess, http: socket.socket) -> None:
    before = metric_sum(node, "penstock_connections_dropped_total", 'reason="header"')
    http.sendall(HEAD + b"\r\n")
    assert http.recv(65_536).startswith(b"HTTP/1.1 200")
    drips_until_closed(http, chain([HEAD], byte_by_byte(b"X-More: 1\r\n")))
    assert metric_sum(node, "penstock_connections_dropped_total", 'reason="header"') == before + 1


def test_an_http_header_that_is_too_long(http: socket.socket) -> None:
    http.sendall(HEAD + b"X-Long: " + b"x" * 20_000)
    answer = http.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 431")
    assert b"application/problem+json" in answer
    assert b"nosniff" in answer
    wait_until(lambda: is_closed(http), what="the connection is closed")


def test_an_http_connection_that_is_not_used_again(http: socket.socket) -> None:
    http.sendall(HEAD + b"\r\n")
    assert http.recv(65_536).startswith(b"HTTP/1.1 200")
    wait_until(lambda: is_closed(http), what="an idle connection is closed", within_s=CLOSED_WITHIN_S)


@pytest.mark.parametrize("length", [b"Content-Length: 50000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nffff\r\n"])
def test_an_http_body_that_drips(node: PenstockProcess, http: socket.socket, length: bytes) -> None:
    before = metric_sum(node, "penstock_connections_dropped_total", 'reason="body"')
    drips_until_closed(http, chain([POST + length], repeat(b" ")))
    assert metric_sum(node, "penstock_connections_dropped_total", 'reason="body"') == before + 1


def test_an_http_body_that_drips_after_its_answer(http: socket.socket) -> None:
    path = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    drips_until_closed(http, chain([path], repeat(b" ")))


def test_a_slow_but_steady_http_client_is_served(http: socket.socket) -> None:
    """Above the least rate, for longer than the limit; then an answer, which says that this is no JSON."""
    http.sendall(POST + b"Content-Length: 60000\r\n\r\n")
    for _ in range(60):
        http.sendall(b"x" * 1_000)
        time.sleep(0.025)
    assert http.recv(65_536).startswith(b"HTTP/1.1 400")


def test_an_http_answer_that_is_not_read(node: PenstockProcess) -> None:
    """Megabytes of answers for a child that reads nothing, and for one that reads hardly anything."""
    with RawClient(node.host, node.port) as client:
        topic = client.create_topic(configs={"max.message.bytes": "20000000"})
        for _ in range(4):
            client.appended(topic, batches.values(bytes(8 << 20)))
        topic_id = client.topic_id(topic)
    version = ask(f"http://127.0.0.1:{node.http_port}/pipe/topics").json["version"]
    wanted = [Wanted(topic_id.bytes, 0, 0, 0, 0, None)]
    body = encode_request(PullRequest(version, 100, 64 << 20, 1_000, wanted))
    head = b"POST /pipe/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    before = metric_sum(node, "penstock_connections_dropped_total", 'reason="answer"')
    with narrow(node.http_port) as deaf, narrow(node.http_port) as trickling:
        for each in (deaf, trickling):
            each.sendall(head + body)
        wait_until(lambda: is_reset(deaf), what="a client that does not read is closed", within_s=CLOSED_WITHIN_S)
        wait_until(lambda: trickling.recv(1) and is_reset(trickling), what="one that reads a byte at a time, too")
    assert metric_sum(node, "penstock_connections_dropped_total", 'reason="answer"') == before + 2


def narrow(port: int) -> socket.socket:
    """A connection whose system keeps little of what was not read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    sock.connect(("127.0.0.1", port))
    sock.settimeout(30)
    return sock


def test_a_first_push_frame_that_drips(push: socket.socket) -> None:
    drips_until_closed(push, chain([HEADER.pack(FrameType.PUBLISH, 1, 1_000_000)], repeat(b" ")))


def test_a_later_push_frame_that_drips(push: socket.socket) -> None:
    beginning = encode(Heartbeat()) + HEADER.pack(FrameType.PUBLISH, 1, 1_000_000)
    drips_until_closed(push, chain([beginning], repeat(b" ")))


def test_a_first_push_frame_that_drips_at_the_kafka_port(kafka: socket.socket) -> None:
    drips_until_closed(kafka, chain([HEADER.pack(FrameType.SUBSCRIBE, 1, 1_000_000)], repeat(b" ")))


@pytest.mark.parametrize("start", [struct.pack(">i", 1_000_000), struct.pack(">ihh", 1_000_000, 18, 0)])
def test_a_first_kafka_request_that_drips(kafka: socket.socket, start: bytes) -> None:
    drips_until_closed(kafka, chain([start], repeat(b"\0")))
