"""Memory of frames under way, from outside: announced sizes take none of it, and clients without a login get little."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.push import messages
from penstock.protocol.push.frames import HEADER_BYTES, NO_ID, FrameSplitter
from penstock.security.authenticator import Credentials
from penstock.security.session import Session
from tests.gate.recorder import Recorder
from tests.gate.world import running_node
from tests.support import batches
from tests.support.broker_process import HOST
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, frame

TRICKLERS = 6
ANNOUNCED_BYTES = 100 << 20
REQUEST_BYTES = 2 << 20
CONFIG = "kafka: {idle_timeout_ms: 2000}\n"  # the longest that a frame may stop, too


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path / "broker", CONFIG)
    process.prepare()
    process.start()
    yield process
    process.stop()


class Trickler:
    """A client that announces a large request and sends a byte of it now and then."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=30.0)
        self._socket.sendall(frame(encode_request("api_versions", 0, 1, {})))
        assert self._socket.recv(4096)
        self._socket.sendall(struct.pack(">i", ANNOUNCED_BYTES) + b"xx")
        self._socket.settimeout(0.2)
        self._thread = threading.Thread(target=self._trickle)
        self._thread.start()

    def _trickle(self) -> None:
        with self._socket:
            while True:
                try:
                    self._socket.sendall(b"x")
                    if self._socket.recv(1) == b"":
                        return
                except TimeoutError:
                    continue
                except OSError:
                    return

    @property
    def is_closed(self) -> bool:
        return not self._thread.is_alive()


@pytest.mark.feature("F-06")
def test_requests_of_others_are_served_while_clients_announce_large_ones_and_trickle(penstock: PenstockProcess) -> None:
    with RawClient(HOST, penstock.port) as client:
        topic = client.create_topic(configs={"max.message.bytes": str(2 * REQUEST_BYTES)})
        tricklers = [Trickler(penstock.port) for _ in range(TRICKLERS)]
        slowest, stored = 0.0, 0
        while not all(each.is_closed for each in tricklers):
            started = time.monotonic()
            assert client.appended(topic, batches.values(bytes(REQUEST_BYTES))) == stored
            slowest, stored = max(slowest, time.monotonic() - started), stored + 1
        assert slowest < 5, "they took the room of others' requests"
    wait_until(lambda: "come too slowly" in penstock.log_file.read_text(), what="the log says why")
    assert metric(penstock, "penstock_held_bytes") == metric(penstock, "penstock_waiting_requests") == 0


@pytest.mark.feature("F-06")
def test_a_crowd_that_announces_requests_of_common_size_takes_no_memory(penstock: PenstockProcess) -> None:
    """Four hundred clients announce a million bytes each and send two of them."""
    before = anonymous_bytes(penstock)
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            client = stack.enter_context(socket.create_connection((HOST, penstock.port), timeout=30.0))
            client.sendall(struct.pack(">ih", 1_000_000, 18))
        wait_until(lambda: metric(penstock, "penstock_connections") >= 400, what="all of them are there")
        assert anonymous_bytes(penstock) - before < 64 << 20


def anonymous_bytes(process: PenstockProcess) -> int:
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


# --- before a login ---------------------------------------------------------------------------------------------------


class LoggedIn(Recorder):
    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return super().authenticate(session, credentials)._replace(authenticated=True)


@pytest.mark.parametrize(
    ("recorder", "size", "is_served"),
    [(Recorder(), (64 << 10) + 1, False), (Recorder(), 64 << 10, True), (LoggedIn(), (64 << 10) + 1, True)],
)
def test_a_client_that_has_not_logged_in_may_send_short_frames_only(
    tmp_path: Path, recorder: Recorder, size: int, is_served: bool
) -> None:
    head = encode_request("produce", 8, 1, _produce(b""))
    text = encode_request("produce", 8, 1, _produce(bytes(size - len(head))))
    assert len(text) == size

    async def scenario() -> None:
        async with running_node(tmp_path / "data", recorder) as node:
            reader, writer = await asyncio.open_connection(HOST, node.kafka_port)
            writer.write(frame(text))
            try:
                assert bool(await reader.read(4096)) == is_served
            except ConnectionError:
                assert not is_served
            writer.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))


@pytest.mark.parametrize(
    ("recorder", "size", "is_served"),
    [(Recorder(), (64 << 10) + 1, False), (Recorder(), 64 << 10, True), (LoggedIn(), (64 << 10) + 1, True)],
)
def test_the_same_holds_at_the_push_port(tmp_path: Path, recorder: Recorder, size: int, is_served: bool) -> None:
    head = len(messages.encode(_publish(b""), 1)) - HEADER_BYTES
    text = messages.encode(_publish(bytes(size - head)), 1)

    async def scenario() -> None:
        async with running_node(tmp_path / "data", recorder) as node:
            reader, writer = await asyncio.open_connection(HOST, node.push_port)
            writer.write(text)
            (answer,) = FrameSplitter().feed(await reader.read(4096))
            assert answer.message_id == (1 if is_served else NO_ID)
            assert is_served or b"a frame has at most 65536" in answer.payload
            writer.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def _publish(value: bytes) -> messages.Publish:
    return messages.Publish("c", 0, messages.NO_SEQUENCE, "t", 0, None, value)


def _produce(records: bytes) -> dict[str, Any]:
    return {"acks": -1, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]}
