"""Clients that make a handshake cost the server much, or a record little: nobody else waits for them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator

import pytest

from tests.support.costly_hellos import hello_of_a_finite_field, show_certificates
from tests.support.raw_client import RawClient
from tests.support.undisturbed import loop_seconds, nobody_waits
from tests.tls.conftest import SecuredProcess

pytestmark = pytest.mark.feature("F-03")

HELLOS = 10
HELLO_SECONDS_MAX = 0.03
"""Of the loop, for each: a third of what the power modulo 8,192 bits takes, and ten times what a refusal does."""
RECORDS = 64_000
PAUSE_MAX_S = 0.02


@pytest.fixture
def other(broker: SecuredProcess) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.ports["PLAIN"]) as client:
        yield client


def connected(broker: SecuredProcess, listener: str) -> socket.socket:
    return socket.create_connection((broker.host, broker.ports[listener]), timeout=20)


@pytest.mark.parametrize("listener", ["TLS", "MUTUAL"])
def test_a_key_exchange_in_a_finite_field_is_refused_before_it_is_computed(
    broker: SecuredProcess, listener: str
) -> None:
    before = loop_seconds(broker)
    for _ in range(HELLOS):
        with connected(broker, listener) as stream:
            stream.sendall(hello_of_a_finite_field())
            with contextlib.suppress(ConnectionError):
                assert not stream.recv(100), "the handshake went on"
    assert loop_seconds(broker) - before < HELLOS * HELLO_SECONDS_MAX


def test_expensive_certificates_are_looked_at_in_a_thread(broker: SecuredProcess, other: RawClient) -> None:
    with connected(broker, "MUTUAL") as stream, nobody_waits(other, broker):
        show_certificates(stream, 6)
        with contextlib.suppress(ConnectionError):
            assert not stream.recv(100), "it has got in"


def test_a_long_chain_of_certificates_is_not_looked_at(broker: SecuredProcess) -> None:
    with connected(broker, "MUTUAL") as stream:
        started = time.monotonic()
        with contextlib.suppress(ConnectionError):
            show_certificates(stream, 150)
            assert not stream.recv(100), "it has got in"
        assert time.monotonic() - started < 8, "150 certificates take 18 s"


def test_a_byte_a_record_is_taken_in_turns(broker: SecuredProcess, other: RawClient) -> None:
    context = ssl.create_default_context(cafile=str(broker.authority.file))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with connected(broker, "LOGIN") as stream:
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                client.do_handshake()
                break
            stream.sendall(outgoing.read())
            incoming.write(stream.recv(65536))
        for number in range(RECORDS):
            client.write(RECORDS.to_bytes(4, "big") if number == 0 else b"\0")
        with nobody_waits(other, broker, PAUSE_MAX_S), contextlib.suppress(ConnectionError):
            stream.sendall(outgoing.read())
