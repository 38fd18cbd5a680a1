"""`penstock security revoke`: who is on the list stays out of a node that runs, and everybody else gets in."""

from __future__ import annotations

import datetime
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from tests.load.frames import API_VERSIONS
from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.command_line import CommandLine, Outcome
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-03")

TIMEOUT = 30


class Set:
    """An authority and what it has issued, as the commands make them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.list = directory / "revoked.pem"
        data = directory.with_name("data")
        CommandLine(None)("security", "init", "--directory", directory, "--data-dir", data, "--listen", "127.0.0.1")

    def __call__(self, command: str, *args: object, code: int = 0) -> Outcome:
        return CommandLine(None)("security", command, *args, "--directory", self.directory, code=code)

    def serial(self, name: str) -> int:
        return x509.load_pem_x509_certificate((self.directory / f"{name}.pem").read_bytes()).serial_number

    def revoked(self) -> set[int]:
        return {entry.serial_number for entry in x509.load_pem_x509_crl(self.list.read_bytes())}

    def context(self, name: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.directory / "ca.pem"))
        context.load_cert_chain(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        return context


@pytest.fixture
def made(tmp_path: Path) -> Set:
    return Set(tmp_path / "security")


@pytest.fixture
def port(made: Set, tmp_path: Path) -> Iterator[int]:
    """The port of a node that asks every client for a certificate, with a list on which nobody is yet."""
    made("revoke")
    port, log = free_port(), tmp_path / "log"
    settings = ("security.protocol=SSL", "tls.client_auth=required", f"tls.crl_file={made.list}")
    flags = ["--config", str(made.directory / "penstock.yml"), f"--kafka-port={port}", "--http-port=0", "--push-port=0"]
    for setting in (*settings, "tls.reload_interval_ms=100"):
        flags += ["--set", setting]
    with log.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-m", "penstock", "serve", *flags], stderr=stream)
    try:
        wait_until(lambda: " ready " in log.read_text(), what="the node is ready", within_s=30)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def gets_in(port: int, context: ssl.SSLContext) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="127.0.0.1") as stream:
                stream.sendall(API_VERSIONS)
                return stream.recv(1) != b""
        except (ssl.SSLError, ConnectionError):
            return False


def test_a_revoked_client_is_refused_by_a_node_that_runs(made: Set, port: int) -> None:
    for name in ("alice", "bob", "carol"):
        made("certificate", name)
    contexts = {name: made.context(name) for name in ("alice", "bob", "carol")}
    assert all(gets_in(port, context) for context in contexts.values())
    told = made("revoke", "alice").err
    assert f"the certificate with the serial number {made.serial('alice'):x} is revoked" in told
    assert f"tls.crl_file: {made.list}" in told
    assert "without a restart" in told
    assert "penstock security disconnect User:CN=alice" in told
    wait_until(lambda: not gets_in(port, contexts["alice"]), what="the node has read the list")
    assert gets_in(port, contexts["bob"])
    lost = made.serial("bob")
    made("certificate", "bob")  # the file is that of another certificate now
    made("revoke", "--serial", f"{lost:X}")
    wait_until(lambda: not gets_in(port, contexts["bob"]), what="the node has read the list again")
    assert not gets_in(port, contexts["alice"])
    assert gets_in(port, made.context("bob"))
    assert gets_in(port, contexts["carol"])


def test_what_was_revoked_stays_so(made: Set) -> None:
    issued = made("certificate", "alice").err
    assert f"its serial number is {made.serial('alice'):x}" in issued
    made("certificate", "bob")
    made("revoke", made.directory / "alice.pem")
    first = x509.load_pem_x509_crl(made.list.read_bytes())
    colons = ":".join(f"{byte:02x}" for byte in made.serial("bob").to_bytes(20))
    told = made("revoke", "alice", "--serial", colons).err
    assert f"{made.serial('alice'):x} was revoked already" in told
    assert "disconnect" not in told
    assert made.revoked() == {made.serial("alice"), made.serial("bob")}
    made("revoke")
    assert made.revoked() == {made.serial("alice"), made.serial("bob")}
    last = x509.load_pem_x509_crl(made.list.read_bytes())
    assert last.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number == 3
    before = next(entry for entry in first if entry.serial_number == made.serial("alice"))
    after = next(entry for entry in last if entry.serial_number == made.serial("alice"))
    assert after.revocation_date_utc == before.revocation_date_utc
    assert stat.S_IMODE(made.list.stat().st_mode) == 0o600
    assert "clients do not look at the list" in made("revoke", "server").err


def test_two_commands_at_once_lose_nothing(made: Set) -> None:
    numbers = range(10, 16)
    threads = [threading.Thread(target=made, args=("revoke", "--serial", f"{number:x}")) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.revoked() == set(numbers)


def test_a_list_counts_until_its_authority_ends_unless_days_are_given(made: Set) -> None:
    made("revoke")
    authority = x509.load_pem_x509_certificate((made.directory / "ca.pem").read_bytes())
    found = x509.load_pem_x509_crl(made.list.read_bytes())
    assert found.is_signature_valid(authority.public_key())  # type: ignore[arg-type]
    assert found.next_update_utc == authority.not_valid_after_utc
    made("revoke", "--days", 7)
    end = x509.load_pem_x509_crl(made.list.read_bytes()).next_update_utc
    assert end is not None
    left = end - datetime.datetime.now(datetime.UTC)
    assert datetime.timedelta(days=6) < left < datetime.timedelta(days=8)
    made("revoke", "--days", 3650)
    end = x509.load_pem_x509_crl(made.list.read_bytes()).next_update_utc
    assert end is not None
    assert end <= authority.not_valid_after_utc


def test_what_cannot_be_revoked_changes_nothing(made: Set, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    stranger = other.issue("alice")
    made("certificate", "alice")
    made("revoke", "alice")
    before = made.list.read_bytes()
    decimal = str(made.serial("alice"))
    authority = f"{made.serial('ca'):x}"
    for args, told, code in (
        ((stranger.certificate_file,), "is not a certificate of the authority in", 2),
        (("ca",), "is not a certificate of the authority in", 2),
        (("bob",), "--serial", 4),
        ((made.directory / "alice.key",), "has no certificate in PEM", 2),
        (("--serial", decimal), "hexadecimal", 2),
        (("--serial", "0"), "hexadecimal", 2),
        (("--serial", authority), "is no serial number", 2),
        (("alice", "--serial", "word"), "nothing was changed", 2),
    ):
        assert told in made("revoke", *args, code=code).err
        assert made.list.read_bytes() == before
    made("certificate", "revoked", code=2)  # whose file would take the place of the list
    for content in (before + other.revocations().read_bytes(), other.revocations().read_bytes(), b"", b"word"):
        made.list.write_bytes(content)
        assert "cannot be added to" in made("revoke", "alice", code=2).err
        assert made.list.read_bytes() == content
    made.list.unlink()
    (made.directory / "ca.key").rename(tmp_path / "ca.key")
    made("revoke", "alice", code=4)
    assert not made.list.exists()
