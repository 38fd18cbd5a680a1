"""The limits of connections over all doors together: of one address, by rate, and in processes with one door."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from penstock.protocol.push.messages import CreateTopic
from tests.doors.crowd import crowd, is_closed
from tests.support.http_client import ask
from tests.support.metrics_page import metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.raw_client import RawClient
from tests.support.registry_process import RegistryProcess, all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

ELSEWHERE = ("192.0.2.1", 9)  # documentation's; nothing is sent to it


@contextmanager
def node(directory: Path, config: str, host: str = "127.0.0.1") -> Iterator[PenstockProcess]:
    process = PenstockProcess(directory, config)
    process.host = host
    with all_running(process):
        wait_until(lambda: answers(process), what="the HTTP port is open")
        yield process


def answers(process: PenstockProcess) -> bool:
    try:
        return ask(f"http://127.0.0.1:{process.http_port}/health/live").status == 200
    except OSError:
        return False


def open_connections(process: PenstockProcess, door: str) -> float:
    return metric_sum(process, "penstock_door_connections", f'door="{door}"')


def test_an_address_has_its_limit_over_all_doors(tmp_path: Path) -> None:
    with node(tmp_path, "limits: {connections_per_address_max: 6}\n") as process:
        wait_until(lambda: open_connections(process, "kafka") == 0, what="the connections of the start have ended")
        with ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(RawClient(process.host, process.port)).call("api_versions", 0)
                stack.enter_context(PushClient(process.push_port)).ask(CreateTopic("t", 1))
                stack.enter_context(begun(process))
            for port in (process.port, process.push_port, process.http_port):
                refused = stack.enter_context(socket.create_connection((process.host, port)))
                wait_until(lambda sock=refused: is_closed(sock), what="a seventh is closed")  # type: ignore[misc]
        wait_until(lambda: answers(process), what="there is room again")
        assert metric_sum(process, "penstock_connections_refused_total", 'reason="address"') >= 3


def begun(process: PenstockProcess) -> socket.socket:
    """An HTTP connection in the middle of a request; the server has asked for its body."""
    sock = socket.create_connection((process.host, process.http_port), timeout=30)
    sock.sendall(
        b"POST /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
        b"Expect: 100-continue\r\n\r\n"
    )
    assert sock.recv(65_536).startswith(b"HTTP/1.1 100")
    return sock


def test_a_push_client_at_the_kafka_port_counts_once(tmp_path: Path) -> None:
    with node(tmp_path, "limits: {connections_per_address_max: 100}\n") as process:
        wait_until(lambda: open_connections(process, "kafka") == 0, what="the connections of the start have ended")
        with PushClient(process.port) as client:
            client.ask(CreateTopic("t", 1))
            assert open_connections(process, "kafka") == 0
            assert open_connections(process, "push") == 1
        wait_until(lambda: open_connections(process, "push") == 0, what="it has gone")
        assert open_connections(process, "kafka") == 0


def own_address() -> str:
    """An address of this machine that is not a loopback one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            pytest.skip("this machine has no other address than 127.0.0.1")
        address: str = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no other address than 127.0.0.1")
    return address


def test_an_address_that_connects_too_fast_is_held_off(tmp_path: Path) -> None:
    """Fifty connections in a row, though one a second is allowed: some get in, the others are closed at once."""
    config = "limits: {connection_rate_per_address_max: 1}\nsecurity: {insecure: true}\n"
    address = own_address()
    with node(tmp_path, config, host="0.0.0.0") as process, ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((address, process.port))) for _ in range(50)]
        wait_until(lambda: sum(map(is_closed, clients)) >= 30, what="most of them are closed")
        assert not all(map(is_closed, clients))
        assert metric_sum(process, "penstock_connections_refused_total", 'door="kafka",reason="rate"') >= 30
        with RawClient("127.0.0.1", process.port) as local:
            local.call("api_versions", 0)  # a client on the same machine has no rate


class ScarceRegistry(RegistryProcess):
    def command(self) -> list[str]:
        return ["bash", "-c", 'ulimit -n 300 && exec "$@"', "-", *super().command()]


def test_a_silent_crowd_at_a_registry_keeps_nobody_out(tmp_path: Path) -> None:
    process = ScarceRegistry(tmp_path)
    with all_running(process), crowd(process.port, 400):
        assert process.register("root-1", role="ROOT", instanceId="i-1").status in (200, 201)
        assert process.ask("GET", "/health/ready").status == 200
