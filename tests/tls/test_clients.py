"""A real client on each listener, and what the others see of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from OpenSSL import SSL

from penstock.protocol.push.messages import CreateTopic, Heartbeat, encode
from penstock.security.tls.distinguished_name import subject_of
from tests.support.certificates import DAY, Issued
from tests.support.variants import variants
from tests.support.waiting import wait_until
from tests.tls.conftest import PASSWORD, SecuredProcess

TIMEOUT = 20


def config_of(broker: SecuredProcess, listener: str, **more: Any) -> dict[str, Any]:
    """The options of librdkafka; names are verified, as by default."""
    base = {"bootstrap.servers": broker.address(listener), "ssl.ca.location": str(broker.authority.file)}
    if listener == "LOGIN":
        login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"}
        return {**base, **login, "sasl.username": "alice", "sasl.password": PASSWORD, **more}
    return {**base, "security.protocol": "SSL", **more} if listener != "PLAIN" else {
        "bootstrap.servers": broker.address(listener), **more,
    }  # fmt: skip


def own(issued: Issued) -> dict[str, str]:
    return {"ssl.certificate.location": str(issued.certificate_file), "ssl.key.location": str(issued.key_file)}


def produce(config: dict[str, Any], topic: str, values: list[bytes]) -> None:
    failures: list[object] = []

    def on_delivery(error: object, message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({**config, "message.timeout.ms": TIMEOUT * 1000, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=on_delivery)
    assert producer.flush(TIMEOUT) == 0
    assert failures == []


def consume(config: dict[str, Any], topic: str, count: int) -> list[bytes]:
    consumer = Consumer({**config, "group.id": f"{topic}-{time.monotonic_ns()}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(count, 0.5):
            assert message.error() is None, message.error()
            found.append(message.value() or b"")
    consumer.close()
    return found


@pytest.mark.feature("F-03")
@pytest.mark.parametrize("listener", ["TLS", "MUTUAL"])
def test_a_real_client_writes_and_reads(broker: SecuredProcess, listener: str) -> None:
    more = own(broker.authority.issue("alice")) if listener == "MUTUAL" else {}
    config = config_of(broker, listener, **more)
    values = [b"%s-%06d" % (listener.encode(), number) * 20 for number in range(3_000)]
    produce(config, f"real-{listener}", values)
    assert consume(config, f"real-{listener}", len(values)) == values


def metadata(config: dict[str, Any], timeout_s: float = 5) -> Any:
    return AdminClient({**config, "socket.timeout.ms": 5_000}).list_topics(timeout=timeout_s)


def test_each_listener_gives_its_own_address(broker: SecuredProcess) -> None:
    (plain,) = metadata(config_of(broker, "PLAIN")).brokers.values()
    (tls,) = metadata(config_of(broker, "TLS")).brokers.values()
    assert (plain.host, plain.port) == (broker.host, broker.ports["PLAIN"])
    assert (tls.host, tls.port) == ("localhost", broker.ports["TLS"])


@pytest.mark.feature("F-04")
def test_certificates_and_logins_have_rights_of_their_own(broker: SecuredProcess) -> None:
    """Alice's certificate is a super user by its rule (ALICE), the user alice is none, and a stranger is nobody."""
    produce(config_of(broker, "PLAIN"), "rights", [b"x"])
    assert "rights" in metadata(config_of(broker, "MUTUAL", **own(broker.authority.issue("alice")))).topics
    assert "rights" not in metadata(config_of(broker, "MUTUAL", **own(broker.authority.issue("bob")))).topics
    assert "rights" not in metadata(config_of(broker, "LOGIN")).topics
    with pytest.raises(KafkaException):
        metadata(config_of(broker, "MUTUAL"), timeout_s=1)
    with pytest.raises(KafkaException):
        metadata(config_of(broker, "LOGIN", **{"sasl.password": "wrong"}), timeout_s=1)


@contextmanager
def tapped(port: int, host: str = "127.0.0.1") -> Iterator[tuple[int, bytearray]]:
    """A proxy to a port for one connection; the bytes that went through it, in both directions."""
    seen = bytearray()
    listening = socket.create_server((host, 0))

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):  # one side has gone
            while data := source.recv(65_536):
                seen.extend(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        client, _ = listening.accept()
        upstream = socket.create_connection(("127.0.0.1", port))
        both = [threading.Thread(target=pump, args=pair) for pair in ((client, upstream), (upstream, client))]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        client.close()
        upstream.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield listening.getsockname()[1], seen
    thread.join(TIMEOUT)
    listening.close()


def _fetch_all(connection: socket.socket, topic: str) -> bytes:
    """One Fetch v4 of 16 MiB from partition 0."""
    name = topic.encode()
    body = (-1).to_bytes(4, "big", signed=True) + (500).to_bytes(4, "big") + (1).to_bytes(4, "big")
    body += (16 << 20).to_bytes(4, "big") + b"\0" + (1).to_bytes(4, "big") + len(name).to_bytes(2, "big") + name
    body += (1).to_bytes(4, "big") + bytes(4) + bytes(8) + (16 << 20).to_bytes(4, "big")
    request = b"\0\x01\0\x04\0\0\0\x07" + (-1).to_bytes(2, "big", signed=True) + body
    connection.sendall(len(request).to_bytes(4, "big") + request)
    received = bytearray()
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
        data = connection.recv(1 << 20)
        assert data
        received += data
    return bytes(received)


@pytest.mark.parametrize("encrypted", [True, False])
def test_no_plain_byte_of_a_large_fetch_is_on_the_wire(broker: SecuredProcess, encrypted: bool) -> None:
    """The broker sends files past its transport where it can: without TLS the same look finds the words."""
    topic, word = f"secret-{encrypted}", b"the quick brown fox jumps over the lazy dog"
    produce(config_of(broker, "PLAIN"), topic, [word * 20] * 5_000)
    with tapped(broker.ports["TLS" if encrypted else "PLAIN"]) as (port, seen):
        connection: socket.socket = socket.create_connection(("127.0.0.1", port))
        if encrypted:
            connection = broker.authority.client_context().wrap_socket(connection, server_hostname="127.0.0.1")
        answer = _fetch_all(connection, topic)
        connection.close()
    assert answer.count(word) == 100_000
    assert len(seen) > 4_000_000
    assert (word[:12] in seen) is not encrypted


def _served_serial(broker: SecuredProcess) -> int:
    from cryptography import x509

    plain = socket.create_connection((broker.host, broker.ports["TLS"]), timeout=5)
    with broker.authority.client_context().wrap_socket(plain, server_hostname="127.0.0.1") as stream:
        der = stream.getpeercert(True)
    assert der is not None
    assert subject_of(der) == "CN=server"
    return x509.load_der_x509_certificate(der).serial_number


def _serves(broker: SecuredProcess, serial: int) -> bool:
    return _served_serial(broker) == serial


def test_a_new_certificate_under_load(broker: SecuredProcess) -> None:
    """Clients write all the time; new connections get the new certificate, and nothing is lost."""
    config = config_of(broker, "TLS")
    stop, written = threading.Event(), [0]

    def write() -> None:
        while not stop.is_set():
            produce(config, "renewal", [b"%d" % (written[0] + number) for number in range(100)])
            written[0] += 100

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(3):
            renewed = broker.authority.issue("server", file_name="renewed", lasts=DAY * 3)
            for old, new in (
                (broker.certificate.key_file, renewed.key_file),
                (broker.certificate.certificate_file, renewed.certificate_file),
            ):
                os.replace(new, old)
            os.kill(broker.pid, signal.SIGHUP)
            serial = renewed.certificate.serial_number
            wait_until(partial(_serves, broker, serial), what="the new certificate")
    finally:
        stop.set()
        thread.join()
    found = consume(config, "renewal", written[0])
    assert found == [b"%d" % number for number in range(written[0])]


def test_tls_1_2_has_forward_secrecy_and_no_compression(broker: SecuredProcess) -> None:
    context = broker.authority.client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    plain = socket.create_connection((broker.host, broker.ports["TLS"]), timeout=5)
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as stream:
        assert stream.version() == "TLSv1.2"
        assert stream.compression() is None
        cipher = stream.cipher()
        assert cipher is not None
        assert cipher[0].startswith("ECDHE-")


@variants("door", [("TLS",), ("PUSH",), ("HTTP",)], quick=[("TLS",)])
def test_a_client_may_not_begin_a_new_handshake(broker: SecuredProcess, door: str) -> None:
    """The broker says no, and the client ends the connection. Python's own `ssl` cannot ask for it."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_max_proto_version(SSL.TLS1_2_VERSION)
    port = {**broker.ports, "PUSH": broker.push_port, "HTTP": broker.http_port}[door]
    wait_until(lambda: _takes_connections(broker.host, port), what=f"the door {door} is open")
    raw = socket.create_connection((broker.host, port), timeout=TIMEOUT)
    raw.setblocking(True)
    client = SSL.Connection(context, raw)
    client.set_connect_state()
    client.do_handshake()
    client.renegotiate()
    with pytest.raises(SSL.Error, match="no renegotiation"):
        client.do_handshake()
    client.close()
    assert _served_serial(broker)


def _takes_connections(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True


def test_push_clients_come_in_with_tls(broker: SecuredProcess) -> None:
    """The door takes no plain text any more, and speaks its protocol under TLS."""
    with socket.create_connection((broker.host, broker.push_port), timeout=5) as plain:
        plain.sendall(encode(Heartbeat()))
        with contextlib.suppress(ConnectionResetError):
            assert plain.recv(1) == b""
    raw = socket.create_connection((broker.host, broker.push_port), timeout=5)
    with broker.authority.client_context().wrap_socket(raw, server_hostname="127.0.0.1") as stream:
        stream.sendall(encode(CreateTopic("pushed", 1), 7))
        assert stream.recv(1) != b""


def test_http_is_https(broker: SecuredProcess) -> None:
    context = broker.authority.client_context()
    with urllib.request.urlopen(
        f"https://127.0.0.1:{broker.http_port}/health/live", timeout=5, context=context
    ) as answer:
        assert json.load(answer) == {"status": "live"}
    url = f"https://127.0.0.1:{broker.http_port}/metrics"
    with urllib.request.urlopen(url, timeout=5, context=context) as answer:
        page = answer.read().decode()
    days = {float(value) for value in re.findall(r'penstock_certificate_days_left\{listener="\w+"\} ([\d.]+)', page)}
    assert days
    assert all(0.5 < value < 3.5 for value in days)
    with socket.create_connection((broker.host, broker.http_port), timeout=5) as plain:
        plain.sendall(b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert plain.recv(1) == b""
