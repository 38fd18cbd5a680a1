"""Answers over HTTP that nobody reads: they count until they are sent, so that their memory has a bound."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.topology.pipe.wire import PullRequest, Wanted, encode_request
from tests.support import batches
from tests.support.http_client import ask
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.registry_process import all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

PULLS_MAX = 20
PULLS = 150
GROWTH_MAX = 300 << 20
"""Twenty answers of 4 MiB, each in some copies, and what the allocator keeps; without a bound it is a gigabyte."""
CONFIG = f"pipe: {{pulls_max: {PULLS_MAX}}}\nhttp: {{stall_timeout_ms: 1000}}\n"
SCRAPES = 40


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("unread"), CONFIG)
    with all_running(process):
        yield process


def resident_bytes(process: PenstockProcess) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


def deaf(port: int) -> socket.socket:
    """A connection on which hardly anything can be sent before somebody reads."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    sock.settimeout(30)
    sock.connect(("127.0.0.1", port))
    return sock


def status_of(sock: socket.socket) -> int:
    """The status of the answer, of which nothing else is read."""
    return int(sock.recv(12, socket.MSG_WAITALL).split()[1])


def test_pulls_count_until_they_are_read(node: PenstockProcess) -> None:
    """A hundred and fifty children ask for 4 MiB and read nothing: all but a few are refused, and nobody stays."""
    with RawClient(node.host, node.port) as client:
        topic = client.create_topic(configs={"max.message.bytes": "20000000"})
        for _ in range(8):
            client.appended(topic, batches.values(bytes(1 << 20)))
        topic_id = client.topic_id(topic)
    url = f"http://127.0.0.1:{node.http_port}"
    version = ask(f"{url}/pipe/topics").json["version"]
    body = encode_request(PullRequest(version, 100, 4 << 20, 1_000, [Wanted(topic_id.bytes, 0, 0, 0, 0)]))
    head = b"POST /pipe/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    before = resident_bytes(node)
    with ExitStack() as stack:
        children = [stack.enter_context(deaf(node.http_port)) for _ in range(PULLS)]
        for child in children:
            child.sendall(head + body)
        statuses = [status_of(child) for child in children]
        assert sorted(set(statuses)) == [200, 503]
        assert resident_bytes(node) - before < GROWTH_MAX
        answer = ask(f"{url}/pipe/records", "POST", body=body)
        if answer.status == 503:
            assert answer.headers["Retry-After"] == "1"
            assert b"pipe.pulls_max" in answer.body
        wait_until(lambda: metric(node, "penstock_pipe_pulls") == 0, what="those that do not read are closed")
        answer = ask(f"{url}/pipe/records", "POST", body=body)
        assert (answer.status, len(answer.body) > 3 << 20) == (200, True)


def test_scrapes_count_until_they_are_read(node: PenstockProcess) -> None:
    """Enough topics for a page that no buffer holds, and clients that read no more of it than the status."""
    with RawClient(node.host, node.port) as client:
        client.create_topic(partitions=16_000)
    url = f"http://127.0.0.1:{node.http_port}/metrics"
    assert len(ask(url).body) > 4 << 20
    with ExitStack() as stack:
        scrapers = [stack.enter_context(deaf(node.http_port)) for _ in range(SCRAPES)]
        for each in scrapers:
            each.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses = [status_of(each) for each in scrapers]
        assert sorted(set(statuses)) == [200, 503]
        assert statuses.count(200) >= 8
        wait_until(lambda: ask(url).status == 200, what="those that do not read are closed")
        assert ask(f"http://127.0.0.1:{node.http_port}/health/ready").status == 200
