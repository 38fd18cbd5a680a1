"""Connections that an operator ends: at every door, under load, and of nobody else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scramp import ScramClient

from penstock.cli.terminal.errors import ExitCode
from penstock.protocol.push import messages as m
from tests.acls.world import NOT_YET
from tests.secured.node import ADMIN, PASSWORD, SecuredNode
from tests.support.acl_client import ALL, GROUP, TOPIC, AclClient, rule
from tests.support.batches import values
from tests.support.command_line import CommandLine
from tests.support.push_client import PushClient, PushRefused
from tests.support.push_login import log_in
from tests.support.raw_client import unique_name
from tests.support.sasl_client import PLAIN, SaslClient
from tests.support.user_client import SHA_256, SHA_512, alter, deletion, upsertion
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-04")

ADMIN_LOGIN = basic(ADMIN, PASSWORD)
BROKEN = (OSError, ConnectionClosed)


@pytest.fixture
def topic(node: SecuredNode, user: str) -> str:
    """A topic that the user may do everything to, as to a group of the same name."""
    with node.admin() as admin:
        name = admin.create_topic()
        AclClient(admin).created(
            *(rule(kind, name, principal=f"User:{user}", operation=ALL) for kind in (TOPIC, GROUP))
        )
    return name


class Producer(threading.Thread):
    """Writes one number after the other, each again until it is acknowledged, over as many connections as it takes."""

    def __init__(self, node: SecuredNode, user: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._node, self._user, self._topic = node, user, topic
        self._ending = threading.Event()
        self.acknowledged = 0
        self.logins = 0
        self.refusals = 0

    def run(self) -> None:
        while not self._ending.is_set():
            with contextlib.suppress(*BROKEN), self._node.kafka() as client:
                self._produce(client)

    def _produce(self, client: SaslClient) -> None:
        if client.plain(self._user, self._user).error_code:
            self.refusals += 1
            return
        self.logins += 1
        while not self._ending.is_set():
            client.appended(self._topic, values(str(self.acknowledged)))
            self.acknowledged += 1

    def end(self) -> None:
        self._ending.set()
        self.join(60)
        assert not self.is_alive()


@pytest.fixture
def producer(node: SecuredNode, user: str, topic: str) -> Iterator[Producer]:
    thread = Producer(node, user, topic)
    thread.start()
    yield thread
    thread.end()


def member(node: SecuredNode, user: str, topic: str) -> PushClient:
    client = node.push()
    log_in(client, user, PLAIN, user)

    def joins() -> bool:
        try:
            client.ask(m.Subscribe("", topic, topic, credit=1_000_000))
        except PushRefused as refused:
            if refused.code in NOT_YET:
                return False
            raise
        return True

    wait_until(joins, what="the coordinator is there")
    return client


def disconnect(node: SecuredNode, *arguments: str, code: int = 0, **options: Any) -> Any:
    """The answer of `penstock security disconnect`, as the administrator."""
    properties = node.directory / "admin.properties"
    properties.write_text(f"sasl.username={ADMIN}\nsasl.password={PASSWORD}\nssl.ca.location={node.authority.file}\n")
    properties.chmod(0o600)
    where = ("--url", f"https://127.0.0.1:{node.http_port}", "--command-config", str(properties))
    done = CommandLine(None)("security", *arguments, "--output", "json", *where, code=code, **options)
    return done.json if code == 0 else done.err


def test_every_connection_of_a_principal_ends_under_load(
    node: SecuredNode, user: str, topic: str, producer: Producer
) -> None:
    with (
        contextlib.closing(member(node, user, topic)) as subscriber,
        contextlib.closing(node.web()) as web,
        contextlib.closing(node.web()) as browser,
        node.kafka() as other,
        node.kafka() as waiting,
    ):
        assert other.plain(ADMIN, PASSWORD).error_code == 0
        assert waiting.plain(user, user).error_code == 0
        waiting.send("fetch", 12, **waiting.fetch_values(topic, 0, min_bytes=1 << 30, max_wait=60_000))
        assert web.ask("/api/v1/session", basic(user, user)).status == 200
        cookie = browser.ask("/api/v1/session", basic(user, user), method="POST").headers["Set-Cookie"].split(";")[0]
        assert browser.ask("/api/v1/session", Cookie=cookie).json == {"principal": f"User:{user}"}
        wait_until(lambda: producer.acknowledged > 20, what="the producer is at work")

        ended = disconnect(node, "disconnect", f"User:{user}")
        assert ended == {"connections": 5, "sessions": 1}
        assert any(isinstance(frame, m.Disconnect) and "operator" in frame.reason for frame in subscriber.ends())
        assert waiting.is_closed()
        with pytest.raises(OSError):
            web.ask("/api/v1/session", basic(user, user))
        browser.close()
        assert browser.ask("/api/v1/session", Cookie=cookie).status == 401
        assert other.is_served()
        wait_until(lambda: producer.logins > 1, what="the producer is back: its user is still there")
    before = producer.acknowledged
    wait_until(lambda: producer.acknowledged > before + 20, what="it goes on")
    producer.end()
    with node.admin() as admin:
        found = [int(record.value or b"") for record in admin.fetch_records(topic)]
    assert sorted(set(found)) == list(range(max(found) + 1))
    assert max(found) + 1 >= producer.acknowledged
    (line,) = [line for line in node.lines() if line.get("act") == "disconnect" and user in line["what"]]
    assert (line["message"], line["principal"]) == ("changed", f"User:{ADMIN}")
    assert line["what"] == f"User:{user}: 5 connections, 1 browser sessions"


def test_a_user_that_is_removed_does_not_come_back(
    node: SecuredNode, user: str, topic: str, producer: Producer
) -> None:
    wait_until(lambda: producer.acknowledged > 0, what="the producer is at work")
    with node.admin() as admin:
        for mechanism in (SHA_256, SHA_512):
            alter(admin, deletion(user, mechanism))
    assert disconnect(node, "disconnect", f"User:{user}")["connections"] == 1
    wait_until(lambda: producer.refusals > 0, what="the producer has tried")
    assert producer.logins == 1
    assert disconnect(node, "connections", "--principal", f"User:{user}") == []


def test_who_is_connected(node: SecuredNode, user: str, topic: str) -> None:
    certificate = node.authority.issue("carl")
    with (
        contextlib.closing(member(node, user, topic)),
        contextlib.closing(node.web()) as web,
        node.kafka() as kafka,
        node.kafka("MUTUAL", certificate) as certified,
        node.kafka() as stranger,
    ):
        assert kafka.plain(user, user).error_code == 0
        assert web.ask("/api/v1/session", basic(user, user)).status == 200
        certified.call("api_versions", 3, client_software_name="some-client", client_software_version="1.2")
        stranger.call("api_versions", 0)
        found = disconnect(node, "connections", "--principal", f"User:{user}")
        assert [(each["listener"], each["host"]) for each in found] == [
            (listener, "127.0.0.1") for listener in ("CLIENTS", "HTTP", "PUSH")
        ]
        assert found[0]["client_id"] == "wire"
        everyone = disconnect(node, "connections")
        assert [each["software"] for each in everyone if each["principal"] == "User:CN=carl"] == ["some-client 1.2"]
        own_port = stranger._socket.getsockname()[1]
        assert [each["principal"] for each in everyone if each["port"] == own_port] == [None]


def test_lists_come_in_pages(node: SecuredNode, user: str) -> None:
    with contextlib.ExitStack() as stack, contextlib.closing(node.web()) as web:
        for _ in range(3):
            assert stack.enter_context(node.kafka()).plain(user, user).error_code == 0
        path, ports, cursor = f"/api/v1/security/connections?principal=User:{user}&limit=2", [], ""
        for _ in range(2):
            page = web.ask(path + cursor, ADMIN_LOGIN).json
            ports += [each["port"] for each in page["connections"]]
            cursor = f"&cursor={page['next_cursor']}"
        assert page["next_cursor"] is None
        assert len(set(ports)) == 3


def test_connections_of_an_address(node: SecuredNode, user: str) -> None:
    with node.kafka(source="127.0.0.7") as there, node.kafka() as here:
        assert there.plain(user, user).error_code == here.plain(user, user).error_code == 0
        nobody = disconnect(node, "disconnect", "User:nobody", "--address", "127.0.0.7")
        assert nobody == {"connections": 0, "sessions": 0}
        assert disconnect(node, "disconnect", "--address", "127.0.0.7")["connections"] == 1
        assert there.is_closed()
        assert here.is_served()


def test_an_administrator_may_end_its_own(node: SecuredNode) -> None:
    """The answer is sent first, then the connection ends."""
    with contextlib.closing(node.web()) as web:
        ended = web.ask("/api/v1/security/disconnect", ADMIN_LOGIN, method="POST", body={"principal": f"User:{ADMIN}"})
        assert ended.status == 200
        assert ended.json["connections"] >= 1
        assert not web.is_open


@pytest.mark.parametrize("body", [{}, {"principal": "alice"}, {"principal": ":"}, {"address": "localhost"}, {"x": 1}])
def test_bodies_that_name_nobody(node: SecuredNode, body: dict[str, object]) -> None:
    with contextlib.closing(node.web()) as web:
        assert web.ask("/api/v1/security/disconnect", ADMIN_LOGIN, method="POST", body=body).status == 400


def test_users_may_not_see_or_end_connections(node: SecuredNode, user: str) -> None:
    with contextlib.closing(node.web()) as web:
        assert web.ask("/api/v1/security/connections", basic(user, user)).status == 403
        refused = web.ask(
            "/api/v1/security/disconnect", basic(user, user), method="POST", body={"principal": f"User:{user}"}
        )
        assert refused.status == 403
        assert web.is_open


def test_mistakes_at_the_command_line(node: SecuredNode, tmp_path: Path) -> None:
    assert "write User:alice" in disconnect(node, "disconnect", "alice", code=ExitCode.USAGE)
    assert "--address" in disconnect(node, "disconnect", code=ExitCode.USAGE)
    assert "IP address" in disconnect(node, "disconnect", "--address", "here", code=ExitCode.USAGE)


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_a_login_that_began_before_a_change_fails(node: SecuredNode, user: str, change: str) -> None:
    """Otherwise it could wait until the connections of its user are ended, and come in behind that."""
    with node.kafka() as client, node.admin() as admin:
        scram = ScramClient(["SCRAM-SHA-256"], user, user)
        client.handshake("SCRAM-SHA-256")
        scram.set_server_first(client.authenticate(scram.get_client_first().encode()).auth_bytes.decode())
        alter(admin, deletion(user) if change == "removed" else upsertion(user, password=unique_name("other")))
        with node.one_line("the credential was changed meanwhile"):
            answer = client.authenticate(scram.get_client_final().encode())
        assert answer.error_code == 58
        assert client.is_closed()
