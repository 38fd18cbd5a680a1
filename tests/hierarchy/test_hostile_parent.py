"""A parent that is not what it should be: the child follows it nowhere, keeps little of what it sends, and serves."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import batches
from tests.support.hierarchy import HierarchyNode
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-12")

Behave = Callable[[socket.socket], None]
TOPICS = b"""{"version": 1, "topics": [
    {"name": "mirrored", "id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "configs": {}, "partitions": [{"logEnd": 9}]}
]}"""
CLOSES = b"Connection: close\r\n"  # else the child sends its next request to a socket that is about to be closed
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + CLOSES
PIECE = b" " * (1 << 20)


class Stranger:
    """An HTTP port that counts requests and answers each as `behave` does."""

    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.on_records: Behave = behave
        self.request_count = 0
        self.sent_bytes = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(60)
            asked = b""
            while b"\r\n\r\n" not in asked:
                piece = connection.recv(65_536)
                if not piece:
                    return
                asked += piece
            head, _, body = asked.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            left = (int(length[1]) if length else 0) - len(body)
            while left > 0:  # a socket that is closed before it was read is reset, and takes its answer with it
                left -= len(connection.recv(left))
            self.request_count += 1
            if asked.startswith(b"POST /pipe/records"):
                self.on_records(connection)
            else:
                self.behave(connection)

    def endless(self, connection: socket.socket) -> None:
        connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"%x\r\n" % len(PIECE) + PIECE + b"\r\n")
            self.sent_bytes += len(PIECE)


def answer(body: bytes) -> Behave:
    head = OK + b"Content-Length: %d\r\n\r\n" % len(body)
    return lambda connection: connection.sendall(head + body)


def redirect(status: int, target: str) -> Behave:
    head = b"HTTP/1.1 %d Elsewhere\r\nLocation: %s/latest\r\nContent-Length: 0\r\n" % (status, target.encode())
    return lambda connection: connection.sendall(head + CLOSES + b"\r\n")


@pytest.fixture(scope="module")
def parent() -> Iterator[Stranger]:
    stranger = Stranger(answer(b"{}"))
    yield stranger
    stranger.close()


@pytest.fixture(scope="module")
def child(parent: Stranger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HierarchyNode]:
    directory: Path = tmp_path_factory.mktemp("hostile")
    node = HierarchyNode(directory / "child", parent.url, pipe="  unhealthy_failures: 1000000\n").begin()
    yield node
    node.stop()


def failure_of(child: HierarchyNode, parent: Stranger, behave: Behave) -> str:
    """The pipe's failure after the parent has behaved so at least once; another client is served meanwhile."""
    parent.behave = behave
    before = parent.request_count
    # The second request after the change has seen the new behaviour to its end.
    wait_until(lambda: parent.request_count >= before + 3, what="more requests of the child", within_s=60)
    topic = f"own-{before}"
    with RawClient(child.host, child.port) as client:
        client.create_topic(topic)
        client.appended(topic, batches.values(b"here"))
    return str(child.pipe["lastFailure"])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_leads_nowhere(child: HierarchyNode, parent: Stranger, status: int) -> None:
    elsewhere = Stranger(answer(b"{}"))
    failure = failure_of(child, parent, redirect(status, elsewhere.url))
    assert f"answered {status}" in failure
    assert elsewhere.request_count == 0
    elsewhere.close()


def test_an_endless_list_of_topics_is_cut_off(child: HierarchyNode, parent: Stranger) -> None:
    before = parent.sent_bytes, parent.request_count
    failure = failure_of(child, parent, parent.endless)
    assert "sends more than 16777216 bytes" in failure
    taken = (parent.sent_bytes - before[0]) / (parent.request_count - before[1])
    assert taken < 64 << 20  # and what the sockets in between hold


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[" * 1_000_000, "nested too deeply"),
        (b"[" + b",".join([b"{}"] * 4_000_000) + b"]", "more than 2000000 values"),
        (b"[]", "not a list of topics"),
        (b'{"version": 1, "topics": [{"name": "../../x"}]}', "topics.0.name"),
        (b'{"version": 1, "topics": [{"name": "x", "id": 5, "configs": [], "partitions": {}}]}', "topics.0.id"),
        (b'{"version": 1e400, "topics": []}', "version"),
        (b"\xff\xff", "not a list of topics"),
    ],
    ids=["deep", "many", "list", "name", "types", "infinite", "bytes"],
)
def test_a_list_of_anything_else_is_refused(child: HierarchyNode, parent: Stranger, body: bytes, reason: str) -> None:
    assert reason in failure_of(child, parent, answer(body))
    assert child.get("/health/ready")["status"] == "ready"
    assert all(each["name"].startswith(("own-", "mirrored")) for each in child.get("/pipe/topics")["topics"])


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (b"garbage", "7 bytes are not an answer"),
        (b"PIPE" + bytes(16) * 100, "not a body of the pipe"),
        (b"PIPE\x01\x02\0\0" + bytes(8) + b"\x7f\xff\xff\xff", "cut after"),
    ],
)
def test_records_that_are_none_are_refused(child: HierarchyNode, parent: Stranger, records: bytes, reason: str) -> None:
    parent.on_records = answer(records)
    assert reason in failure_of(child, parent, answer(TOPICS))
    assert child.ends("mirrored") == [0]


def test_records_are_not_fetched_from_where_a_redirect_leads(child: HierarchyNode, parent: Stranger) -> None:
    elsewhere = Stranger(answer(b"{}"))
    parent.on_records = redirect(307, elsewhere.url)
    assert "/pipe/records answered 307" in failure_of(child, parent, answer(TOPICS))
    assert elsewhere.request_count == 0
    elsewhere.close()
