"""Crowds that have not logged in and hold half frames, from outside: clients that have logged in go on as before."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from penstock.cluster.users import add_user
from penstock.model.limits import FRAME_BYTES_BEFORE_LOGIN_MAX
from penstock.node.security.offline import offline_metadata
from penstock.protocol.push import messages
from penstock.protocol.push.frames import HEADER, FrameType
from penstock.security.users.credential import ScramMechanism
from tests.support import batches
from tests.support.metrics_page import metric, metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.push_login import PLAIN
from tests.support.push_login import log_in as push_log_in
from tests.support.sasl_client import SaslClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

USER, PASSWORD = "alice", "alice-secret"
BUDGET_BYTES = 16 << 20
ROOM_BYTES = 1 << 20  # of strangers, beside that
STRANGERS = 60
LONG_BYTES = 500 << 10  # what Kafka would take before a login
SOON_S = 3.0  # it takes milliseconds; a stalled client waited for five seconds and more


class StrictProcess(PenstockProcess):
    """Kafka and push clients have to log in, and what all of them may hold is little."""

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            add_user(store, USER, PASSWORD, ScramMechanism, 4096)
        settings: dict[str, Any] = {
            "listeners": {
                "addresses": f"CLIENTS://{self.host}:{self.port}",
                "protocols": "CLIENTS:SASL_PLAINTEXT,PUSH:SASL_PLAINTEXT",
            },
            "sasl": {"enabled_mechanisms": [PLAIN, "SCRAM-SHA-256"]},
            "limits": {"queued_bytes_total_max": BUDGET_BYTES},
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()


@pytest.fixture(scope="module")
def penstock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrictProcess]:
    process = StrictProcess(tmp_path_factory.mktemp("strict"))
    process.prepare()
    process.start()
    yield process
    process.stop()


def kafka_half(size: int) -> bytes:
    """A SaslHandshake but for its end."""
    return struct.pack(">ihhih", size, 17, 1, 1, -1) + bytes(size - 20)


def push_half(size: int) -> bytes:
    return HEADER.pack(FrameType.AUTHENTICATE, 1, size) + bytes(size - 20)


HALVES = {"kafka": kafka_half, "push": push_half}
SIZES = [FRAME_BYTES_BEFORE_LOGIN_MAX, LONG_BYTES]


@contextlib.contextmanager
def crowd(process: StrictProcess, port: int, half: bytes) -> Iterator[None]:
    """Strangers that have each sent the beginning of a frame. At the end nothing is held for them."""
    dropped = metric_sum(process, "penstock_connections_dropped_total", 'reason="memory"')
    with contextlib.ExitStack() as stack:
        for _ in range(STRANGERS):
            stranger = stack.enter_context(socket.create_connection((process.host, port), timeout=10))
            with contextlib.suppress(ConnectionError):  # it is closed meanwhile, if its frame is too long
                stranger.sendall(half)
        if len(half) <= FRAME_BYTES_BEFORE_LOGIN_MAX:
            wait_until(
                lambda: metric_sum(process, "penstock_connections_dropped_total", 'reason="memory"') > dropped,
                what="some of them gave way",
            )
            assert metric(process, "penstock_strangers_bytes") > ROOM_BYTES // 2
        assert metric(process, "penstock_strangers_bytes") <= ROOM_BYTES
        assert metric(process, "penstock_held_bytes") == 0, "they have none of the room of others"
        yield
    wait_until(lambda: metric(process, "penstock_strangers_bytes") == 0, what="nothing is left of them")


@contextlib.contextmanager
def logged_in(process: StrictProcess) -> Iterator[SaslClient]:
    with SaslClient(process.host, process.port) as client:
        client.plain(USER, PASSWORD)
        yield client


def soon(act: Callable[[], object]) -> None:
    started = time.monotonic()
    act()
    assert time.monotonic() - started < SOON_S


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", HALVES)
def test_half_frames_of_strangers_at_the_kafka_port_hold_up_nobody(
    penstock: StrictProcess, kind: str, size: int
) -> None:
    """Of both protocols: push clients may come through this port, too."""
    with logged_in(penstock) as client:
        topic = client.create_topic()
        data = batches.values(bytes(300_000))
        with crowd(penstock, penstock.port, HALVES[kind](size)):
            soon(lambda: client.appended(topic, data))
            with logged_in(penstock) as late:
                soon(lambda: late.appended(topic, data))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("door", ["push_port", "port"])
def test_half_frames_of_strangers_do_not_disconnect_a_push_client_with_a_large_message(
    penstock: StrictProcess, door: str, size: int
) -> None:
    port = getattr(penstock, door)
    with logged_in(penstock) as client:
        topic = client.create_topic()
    with PushClient(port) as push:
        push_log_in(push, USER, PLAIN, PASSWORD)
        with crowd(penstock, port, push_half(size)):
            soon(lambda: push.publish(topic, bytes(700_000)))
            with PushClient(port) as late:
                push_log_in(late, USER, PLAIN, PASSWORD)
                soon(lambda: late.publish(topic, bytes(700_000)))


def test_frames_behind_a_login_that_is_checked_are_bounded_at_the_push_port(penstock: StrictProcess) -> None:
    """Each read of short frames would otherwise be a hundred kilobytes on the wire and megabytes in memory."""
    wrong = messages.encode(messages.Authenticate(PLAIN, b"\0nobody\0wrong"), 1)
    heartbeats = messages.encode(messages.Heartbeat()) * 15_000
    dropped = metric_sum(penstock, "penstock_connections_dropped_total", 'reason="memory"')
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            address = (penstock.host, penstock.push_port)
            elsewhere = ("127.0.0.2", 0)  # whose failures hold nobody off in other tests
            stranger = stack.enter_context(socket.create_connection(address, timeout=10, source_address=elsewhere))
            with contextlib.suppress(ConnectionError):
                stranger.sendall(wrong + heartbeats)
        wait_until(
            lambda: metric_sum(penstock, "penstock_connections_dropped_total", 'reason="memory"') > dropped,
            what="some of them gave way",
        )
        assert metric(penstock, "penstock_strangers_bytes") <= ROOM_BYTES
