"""Our own push clients against a broker with TLS and SASL: they log in, also again, and when they reconnect."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import AsyncBrokerClient, BrokerClient, Message
from penstock.client.push.errors import LoginFailed, NotConnected, ProtocolError, WrongProtocol
from penstock.client.security.properties import SecurityProblem
from tests.support.certificates import Authority
from tests.support.push_login import MECHANISMS, SHORT_SESSION_MS, USERS, PushLoginProcess
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04", "P-07")

SECRET = USERS["alice"]


def properties(broker: PushLoginProcess, protocol: str = "SASL_SSL", **changes: str) -> dict[str, str]:
    """Those of alice; changes are given with _ in place of dots."""
    given = {
        "security.protocol": protocol,
        "ssl.ca.location": str(broker.authority.file),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": SECRET,
    }
    return given | {name.replace("_", "."): value for name, value in changes.items()}


class Inbox:
    """Bodies that a handler was called with."""

    def __init__(self) -> None:
        self.bodies: list[bytes | None] = []

    def __call__(self, message: Message) -> None:
        self.bodies.append(message.body)

    def await_count(self, count: int) -> list[bytes | None]:
        wait_until(lambda: len(self.bodies) >= count, what=f"{count} messages")
        return self.bodies


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_publishes_and_reads(broker: PushLoginProcess, mechanism: str) -> None:
    topic, inbox = unique_name(), Inbox()
    with BrokerClient(broker.host, broker.push_port, security=properties(broker, sasl_mechanism=mechanism)) as client:
        client.create_topic(topic)
        client.subscribe(topic, inbox)
        client.publish(topic, b"a")
        assert inbox.await_count(1) == [b"a"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_on_asyncio_publishes_and_reads(broker: PushLoginProcess, mechanism: str) -> None:
    async def run() -> list[bytes | None]:
        topic, arrived = unique_name(), asyncio.Queue[bytes | None]()

        async def handle(message: Message) -> None:
            await arrived.put(message.body)

        security = properties(broker, sasl_mechanism=mechanism)
        async with AsyncBrokerClient(broker.host, broker.push_port, security=security) as client:
            await client.create_topic(topic)
            await client.subscribe(topic, handle)
            await asyncio.gather(*(client.publish(topic, b"%d" % number, partition=0) for number in range(20)))
            return [await asyncio.wait_for(arrived.get(), 60) for _ in range(20)]

    assert asyncio.run(run()) == [b"%d" % number for number in range(20)]


def test_threads_share_a_connection_with_tls(broker: PushLoginProcess) -> None:
    """Large messages both ways at the same time, from several threads."""
    topic, inbox, failures = unique_name(), Inbox(), list[BaseException]()
    with BrokerClient(broker.host, broker.push_port, security=properties(broker)) as client:
        client.create_topic(topic)
        client.subscribe(topic, inbox)

        def publish(number: int) -> None:
            try:
                for _ in range(20):
                    client.publish(topic, bytes([number]) * 100_000)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        bodies = inbox.await_count(80)
    assert sorted(bodies) == sorted(bytes([number]) * 100_000 for number in range(4) for _ in range(20))  # type: ignore[type-var]


@pytest.mark.parametrize("kind", [BrokerClient, AsyncBrokerClient])
def test_a_wrong_password_is_told_at_once_and_shown_nowhere(
    broker: PushLoginProcess, kind: type[BrokerClient] | type[AsyncBrokerClient]
) -> None:
    client = kind(broker.host, broker.push_port, security=properties(broker, sasl_password="not-the-word"))
    assert "not-the-word" not in repr(client._security)
    for _ in range(2):
        with pytest.raises(LoginFailed, match="invalid credentials") as failed:
            client.connect() if isinstance(client, BrokerClient) else asyncio.run(client.connect())
        assert "not-the-word" not in str(failed.value)
        assert not client.is_connected


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ssl_ca_location": ""}, "is not trusted"),
        ({"ssl_ca_location": "/nowhere/ca.pem"}, "No such file"),
        ({"security_protocol": "SASL_PLAINTEXT"}, "security.protocol"),
    ],
)
def test_a_broker_that_is_not_the_one_expected(broker: PushLoginProcess, changes: dict[str, str], told: str) -> None:
    security = properties(broker, **changes)
    with pytest.raises(NotConnected, match=told):
        BrokerClient(broker.host, broker.push_port, security=security).connect()
    with pytest.raises(NotConnected, match=told):
        asyncio.run(AsyncBrokerClient(broker.host, broker.push_port, security=security).connect())


def test_a_client_with_tls_at_a_plain_port(broker: PushLoginProcess) -> None:
    security = properties(broker)
    with pytest.raises(NotConnected):
        BrokerClient(broker.host, broker.ports["OPEN"], security=security).connect()
    with pytest.raises(NotConnected):
        asyncio.run(AsyncBrokerClient(broker.host, broker.ports["OPEN"], security=security).connect())


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_a_client_without_tls_at_a_port_with_it(broker: PushLoginProcess, protocol: str) -> None:
    """The port closes such connections without a word: the client asks it for TLS, and does not wait in vain."""
    security = properties(broker, protocol)
    told = f"{broker.push_port} speaks TLS; set security.protocol to SSL, or to SASL_SSL if it wants a login"

    async def publish() -> None:
        async with AsyncBrokerClient(broker.host, broker.push_port, security=security) as client:
            await client.publish("topic", b"a")

    with (
        pytest.raises(WrongProtocol, match=told),
        BrokerClient(broker.host, broker.push_port, security=security) as client,
    ):
        client.publish("topic", b"a")
    with pytest.raises(WrongProtocol, match=told):
        asyncio.run(publish())


def test_a_client_without_a_login_is_told_that_one_is_wanted(broker: PushLoginProcess) -> None:
    security = {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority.file)}
    with (
        BrokerClient(broker.host, broker.push_port, security=security) as client,
        pytest.raises(ProtocolError, match="wants a login there"),
    ):
        client.create_topic(unique_name())


@contextlib.contextmanager
def impostor(authority: Authority) -> Iterator[int]:
    """The port of a server whose certificate is of the right authority, for another host; it hears what it is told."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue("impostor", hosts=("other.example",)).load(context)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    stream = listening.accept()[0]
                    with contextlib.suppress(OSError), context.wrap_socket(stream, server_side=True) as encrypted:
                        encrypted.recv(1000)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def test_a_host_name_that_the_certificate_has_not(tmp_path: Path) -> None:
    """It is not told who the client is, unless the user declines the check; then it cannot know the password."""
    authority = Authority(tmp_path)
    security = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(authority.file),
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "x",
    }
    unchecked = security | {"ssl.endpoint.identification.algorithm": ""}
    with impostor(authority) as port:
        with pytest.raises(NotConnected, match="not trusted"):
            BrokerClient("127.0.0.1", port, security=security).connect()
        with pytest.raises(NotConnected, match="not trusted"):
            asyncio.run(AsyncBrokerClient("127.0.0.1", port, security=security).connect())
        with pytest.raises(NotConnected, match="before the login was done"):
            BrokerClient("127.0.0.1", port, security=unchecked).connect()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sasl.user": "alice"}, "sasl.user is no property"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism is one of"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.username"),
    ],
)
def test_properties_that_do_not_fit_together(given: dict[str, str], told: str) -> None:
    for kind in (BrokerClient, AsyncBrokerClient):
        with pytest.raises(SecurityProblem, match=told):
            kind(security=given)


def test_a_client_logs_in_again_before_its_session_ends(broker: PushLoginProcess) -> None:
    """It stays on its connection for longer than a session, while it publishes and reads."""
    topic, inbox, count = unique_name(), Inbox(), 0
    security = properties(broker, "SASL_PLAINTEXT")
    with (
        BrokerClient(broker.host, broker.ports["SHORT"], security=security) as other,
        BrokerClient(broker.host, broker.ports["SHORT"], security=security) as client,
    ):
        client.create_topic(topic)
        client.subscribe(topic, inbox)
        core = client._running()
        logged_in = core._login
        assert logged_in is not None
        first = logged_in.again_at
        while logged_in.again_at in (first, float("inf")) or logged_in.again_at < first + SHORT_SESSION_MS / 1000:
            client.publish(topic, b"%d" % count)
            count += 1
        assert inbox.await_count(count) == [b"%d" % number for number in range(count)]
        assert core.generation == 1, "the connection was never lost"
        assert other.is_connected


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
def test_a_client_on_asyncio_logs_in_again_before_its_session_ends(broker: PushLoginProcess, is_busy: bool) -> None:
    """Its session is shorter than its heartbeat interval: nothing else wakes it in time."""

    async def run() -> None:
        topic, arrived, count = unique_name(), list[bytes | None](), 0
        security = properties(broker, "SASL_PLAINTEXT")
        async with AsyncBrokerClient(broker.host, broker.ports["SHORT"], security=security) as client:
            await client.create_topic(topic)
            await client.subscribe(topic, lambda message: arrived.append(message.body))
            core = client._running()
            logged_in = core._login
            assert logged_in is not None
            first = logged_in.again_at

            def is_renewed() -> bool:
                return math.isfinite(logged_in.again_at) and logged_in.again_at > first + SHORT_SESSION_MS / 1000

            while is_busy and not is_renewed():
                await client.publish(topic, b"%d" % count)
                count += 1
            await asyncio.to_thread(wait_until, is_renewed, what="it has logged in again, and again")
            await asyncio.to_thread(wait_until, lambda: len(arrived) >= count, what="all messages")
            assert arrived == [b"%d" % number for number in range(count)]
            assert core.generation == 1, "the connection was never lost"

    asyncio.run(run())


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[PushLoginProcess]:
    process = PushLoginProcess(tmp_path / "own")
    process.prepare()
    process.start()
    yield process
    process.stop()


def test_clients_log_in_again_after_a_restart(own_broker: PushLoginProcess) -> None:
    topic, inbox = unique_name(), Inbox()
    security = properties(own_broker)

    async def publish(body: bytes) -> None:
        async with AsyncBrokerClient(own_broker.host, own_broker.push_port, security=security) as client:
            await client.publish(topic, body)
            await asyncio.to_thread(own_broker.restart)
            await client.publish(topic, body + b" again")

    with BrokerClient(own_broker.host, own_broker.push_port, security=security) as client:
        client.create_topic(topic)
        client.subscribe(topic, inbox)
        asyncio.run(publish(b"a"))
        client.publish(topic, b"b")
        assert sorted(set(inbox.await_count(3))) == [b"a", b"a again", b"b"]  # type: ignore[type-var]
