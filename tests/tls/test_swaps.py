"""Certificates and authorities that are replaced while a client writes: its connection stays, and nothing is lost."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.frames import API_VERSIONS
from tests.scale.scaled_broker import produce_error, produce_frame
from tests.support.batches import values
from tests.support.certificates import Authority, Issued
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.tls.conftest import SecuredProcess

TIMEOUT = 30


class Writer:
    """One connection with a client's certificate that writes numbers, one after the other, until it is told to stop."""

    def __init__(self, broker: SecuredProcess, topic: str, context: ssl.SSLContext) -> None:
        raw = socket.create_connection((broker.host, broker.ports["MUTUAL"]), timeout=TIMEOUT)
        self._stream = context.wrap_socket(raw, server_hostname="localhost")
        self._topic = topic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.acknowledged = 0
        self.failure: BaseException | None = None

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._stream.close()

    def _write(self) -> None:
        try:
            for number in itertools.count():
                if self._ended.is_set():
                    return
                self._stream.sendall(produce_frame(self._topic, 0, values(b"%d" % number)))
                assert produce_error(_frame(self._stream)) == 0
                self.acknowledged += 1
        except BaseException as error:
            self.failure = error

    def go_on(self) -> None:
        """Wait until it has written some more."""
        before = self.acknowledged
        wait_until(lambda: self.failure or self.acknowledged > before + 20, what="the client writes on")
        assert self.failure is None, self.failure


def _frame(stream: ssl.SSLSocket) -> bytes:
    head = _exactly(stream, 4)
    return _exactly(stream, int.from_bytes(head, "big"))


def _exactly(stream: ssl.SSLSocket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        data = stream.recv(size - len(found))
        assert data, "the broker has closed the connection"
        found += data
    return bytes(found)


def is_served(broker: SecuredProcess, trusted: Authority, shown: Issued) -> bool:
    """Whether a new client that trusts one authority and shows a certificate gets an answer."""
    try:
        raw = socket.create_connection((broker.host, broker.ports["MUTUAL"]), timeout=TIMEOUT)
        with trusted.client_context(shown).wrap_socket(raw, server_hostname="localhost") as stream:
            stream.sendall(API_VERSIONS)
            return len(_frame(stream)) > 10
    except (OSError, AssertionError):
        return False


def put(broker: SecuredProcess, server: Issued, authorities: bytes) -> None:
    """Replace the files one after the other, as an administrator would; the writes are not atomic together."""
    for path, content in (
        (broker.certificate.key_file, server.key_file.read_bytes()),
        (broker.certificate.certificate_file, server.certificate_file.read_bytes()),
        (broker.client_authorities, authorities),
    ):
        renewed = path.with_suffix(".new")
        renewed.touch(0o600)
        renewed.write_bytes(content)
        os.replace(renewed, path)


@pytest.fixture
def _as_before(broker: SecuredProcess) -> Iterator[None]:
    """The broker has a certificate of its own authority again when the test has ended."""
    kept = broker.authority.issue("server", file_name="kept")
    alice = broker.authority.issue("alice", file_name="alice-after")
    yield
    put(broker, kept, broker.authority.file.read_bytes())
    wait_until(lambda: is_served(broker, broker.authority, alice), what="the first certificate is back")


def failed_listeners(broker: SecuredProcess, trusted: Authority) -> set[str]:
    url = f"https://localhost:{broker.http_port}/metrics"
    with urllib.request.urlopen(url, timeout=TIMEOUT, context=trusted.client_context()) as answer:
        page = answer.read().decode()
    return set(re.findall(r'penstock_certificate_failed\{listener="(\w+)"\} 1', page))


def warnings(broker: SecuredProcess, trusted: Authority) -> dict[str, str]:
    url = f"https://localhost:{broker.http_port}/health/ready"
    with urllib.request.urlopen(url, timeout=TIMEOUT, context=trusted.client_context()) as answer:
        found: dict[str, str] = json.load(answer)["warnings"]
    return found


@pytest.mark.feature("F-03")
@pytest.mark.usefixtures("_as_before")
def test_another_authority_under_load(broker: SecuredProcess, tmp_path: Path) -> None:
    """Server and clients move to a new authority in two steps; then files arrive that cannot be used."""
    old, new = broker.authority, Authority(tmp_path / "new")
    old_alice, new_alice = old.issue("alice"), new.issue("alice")
    server = new.issue("server")
    with RawClient(broker.host, broker.ports["PLAIN"]) as client:
        topic = client.create_topic()
    with Writer(broker, topic, old.client_context(old_alice)) as writer:
        writer.go_on()
        put(broker, server, old.file.read_bytes() + new.file.read_bytes())
        os.kill(broker.pid, signal.SIGHUP)
        wait_until(lambda: is_served(broker, new, new_alice), what="the new certificate and the new authority")
        assert is_served(broker, new, old_alice)
        writer.go_on()
        put(broker, server, new.file.read_bytes())  # found by the next look at the files, without a signal
        wait_until(lambda: not is_served(broker, new, old_alice), what="the old authority is trusted no more")
        assert is_served(broker, new, new_alice)
        assert not is_served(broker, old, new_alice), "the old certificate is shown no more"
        writer.go_on()
        certificate = server.certificate_file.read_bytes()
        broker.certificate.certificate_file.write_bytes(certificate[: len(certificate) // 2])
        wait_until(lambda: "MUTUAL" in failed_listeners(broker, new), what="the metric tells of the bad file")
        told = warnings(broker, new)["certificates"]
        assert "the certificate of the listener MUTUAL stays as it is" in told
        assert str(broker.certificate.certificate_file) in told
        assert is_served(broker, new, new_alice)
        writer.go_on()
        put(broker, server, new.file.read_bytes())
        wait_until(lambda: not failed_listeners(broker, new), what="the mended file is taken")
        assert "certificates" not in warnings(broker, new)
    assert writer.failure is None, writer.failure
    found: list[int] = []
    with RawClient(broker.host, broker.ports["PLAIN"]) as client:
        while len(found) < client.log_end(topic):
            found += [int(record.value or b"") for record in client.fetch_records(topic, len(found))]
    assert found == list(range(writer.acknowledged))
