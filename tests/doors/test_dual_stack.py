"""A node at `::`, which serves IPv4, too: its clients are known by their own addresses at every door."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kio.schema.errors import ErrorCode

from tests.support.sasl_client import SaslClient
from tests.support.sasl_process import USERS, SaslProcess
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = pytest.mark.feature("F-06")

GUESSER, CLIENT = "127.0.0.41", "127.0.0.42"


class DualStackProcess(SaslProcess):
    """Clients of the tests come by IPv4."""

    def prepare(self) -> None:
        super().prepare()
        assert self._config is not None
        settings = yaml.safe_load(self._config)
        settings["security"] = {"insecure": True, "protocol": "SASL_PLAINTEXT"}
        settings["listeners"]["addresses"] = f"CLIENTS://[::]:{self.port}"
        self._config_file.write_text(yaml.safe_dump(settings))

    def command(self) -> list[str]:
        return ["::" if word == self.host else word for word in super().command()]

    def kafka(self, source: str) -> SaslClient:
        return SaslClient(self.host, self.port, source=source)

    def ask(self, method: str, path: str, body: Any = None, *, source: str = "127.0.0.1") -> Any:
        connection = http.client.HTTPConnection(self.host, self.http_port, timeout=30, source_address=(source, 0))
        login = base64.b64encode(f"alice:{USERS['alice']}".encode()).decode()
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            assert answer.status == 200
            return json.loads(answer.read())

    def hosts(self) -> dict[str, set[str]]:
        """The addresses of clients, by listener."""
        found: dict[str, set[str]] = {}
        for each in self.ask("GET", "/api/v1/security/connections", source=CLIENT)["connections"]:
            found.setdefault(each["listener"], set()).add(each["host"])
        return found


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DualStackProcess]:
    if not _has_ipv6():
        pytest.skip("there is no IPv6 here")
    process = DualStackProcess(Path(tmp_path_factory.mktemp("dual-stack")))
    process.prepare()
    process.start()
    yield process
    process.stop()


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


def test_every_door_knows_the_address(node: DualStackProcess) -> None:
    with (
        node.kafka(CLIENT) as client,
        socket.create_connection((node.host, node.push_port), source_address=(CLIENT, 0)),
    ):
        assert client.scram("bob", USERS["bob"]).error_code == ErrorCode.none
        expected = {"CLIENTS": {CLIENT}, "PUSH": {CLIENT}, "HTTP": {CLIENT}}
        wait_until(lambda: node.hosts() == expected, what="connections of every door by their addresses")


def test_connections_of_an_address_are_ended(node: DualStackProcess) -> None:
    with node.kafka(CLIENT) as client, node.kafka(GUESSER) as other:
        for each in (client, other):
            assert each.scram("bob", USERS["bob"]).error_code == ErrorCode.none
        assert node.ask("POST", "/api/v1/security/disconnect", {"address": CLIENT})["connections"] == 1
        assert other.is_served()
        with pytest.raises((ConnectionClosed, OSError)):
            client.is_served()


def test_guesses_at_one_address_hold_off_nobody_at_another(node: DualStackProcess) -> None:
    for number in range(4):
        with node.kafka(GUESSER) as client:
            assert client.plain("nobody", f"guess {number}").error_code == ErrorCode.sasl_authentication_failed
    with node.kafka(CLIENT) as client:
        began = time.monotonic()
        assert client.plain("nobody", "guess").error_code == ErrorCode.sasl_authentication_failed
    assert time.monotonic() - began < 0.7, "the fifth failure of one address waits 0.8 s before the failure delay"
