"""`penstock security init`: two commands from nothing to a secured broker, which strangers do not get into."""

from __future__ import annotations

import re
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from cryptography import x509

from penstock.cli.kafka.command_config import read_command_config
from penstock.config.loading import load_settings
from penstock.security.tls.server_certificate import ServerCertificate, hosts_of
from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine
from tests.support.waiting import wait_until


class Secured:
    """A node that was set up by the command, on every address of the machine."""

    def __init__(self, directory: Path, output: tuple[str, str]) -> None:
        self.files = directory / "security"
        self.password = output[0].strip()
        self.told = output[1]
        self.port = free_port()
        self.data = directory / "data"
        ports = [f"--{door}-port={port}" for door, port in (("kafka", self.port), ("http", 0), ("push", 0))]
        command = [sys.executable, "-m", "penstock", "serve", "--config", str(self.files / "penstock.yml"), *ports]
        self.log = directory / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)
        wait_until(lambda: " ready " in self.log.read_text(), what="the node is ready", within_s=30)

    def config(self, password: str | None = None) -> dict[str, Any]:
        lines = (self.files / "client.properties").read_text().splitlines()
        pairs = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        return {
            "bootstrap.servers": f"localhost:{self.port}",
            **pairs,
            "sasl.password": password or self.password,
            "socket.timeout.ms": 5_000,
            "log_level": 0,
        }


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    command = CommandLine(None)
    made = command("security", "init", "--directory", tmp_path / "security", "--data-dir", tmp_path / "data")
    node = Secured(tmp_path, (made.out, made.err))
    yield node
    node.process.terminate()
    node.process.wait(20)


@pytest.mark.feature("F-03", "F-04", "F-05")
def test_two_commands_make_a_secured_broker(secured: Secured) -> None:
    admin = AdminClient(secured.config())
    admin.create_topics([NewTopic("orders", 1)])["orders"].result(10)
    assert "orders" in admin.list_topics(timeout=5).topics
    node = ConfigResource(ConfigResource.Type.BROKER, "1")
    configs = admin.describe_configs([node])[node].result(10)
    assert {name: configs[name].value for name in ("listeners", "advertised.listeners", "super.users")} == {
        "listeners": f"SASL_SSL://0.0.0.0:{secured.port}",
        "advertised.listeners": f"SASL_SSL://{socket.gethostname()}:{secured.port}",
        "super.users": "User:admin",
    }
    assert (configs["ssl.key.password"].value, configs["ssl.key.password"].is_sensitive) == (None, True)
    with pytest.raises(KafkaException):
        AdminClient(secured.config("wrong")).list_topics(timeout=3)
    plain: dict[str, Any] = {
        "bootstrap.servers": f"localhost:{secured.port}",
        "socket.timeout.ms": 2_000,
        "log_level": 0,
    }
    with pytest.raises(KafkaException):
        AdminClient(plain).list_topics(timeout=3)
    assert secured.password not in secured.log.read_text()
    assert "insecure" not in secured.log.read_text()


@pytest.mark.feature("F-03", "F-04", "F-05")
def test_clients_stay_with_the_name_that_the_certificate_has(tmp_path: Path) -> None:
    """The commands of the documentation, on a name of another address than those in every certificate.

    `127.2` is such a name wherever the tests run: no IP address to TLS, and 127.0.0.2 to the resolver.
    """
    name = "127.2"
    flags = ("--directory", tmp_path / "security", "--data-dir", tmp_path / "data", "--host", name)
    made = CommandLine(None)("security", "init", *flags)
    node = Secured(tmp_path, (made.out, made.err))
    try:
        properties = node.files / "client.properties"
        with properties.open("a") as file:
            file.write(f"sasl.password={node.password}\n")
        command = CommandLine(f"{name}:{node.port}")
        command.environ["PENSTOCK_COMMAND_CONFIG"] = str(properties)
        command("security", "user", "add", "orders-app", stdin="a password of its own\n")
        rule = ("--allow-principal", "User:orders-app", "--producer", "--topic", "orders")
        command("security", "acl", "add", *rule)
        assert "orders-app" in command("security", "user", "list").out
        assert "User:orders-app" in command("security", "acl", "list", "--topic", "orders").out
    finally:
        node.process.terminate()
        node.process.wait(20)


@pytest.mark.parametrize(
    ("flags", "advertised"),
    [
        ((), (socket.gethostname(), 0)),
        (("--listen", "127.0.0.1"), None),
        (("--host", "*.example", "--host", "b.example", "--host", "c.example"), ("b.example", 0)),
        (("--host", "*.example"), None),
        (("--listen", "::", "--host", "2001:db8::7"), ("2001:db8::7", 0)),
    ],
)
def test_what_clients_are_given_is_in_the_certificate(
    tmp_path: Path, flags: tuple[str, ...], advertised: tuple[str, int] | None
) -> None:
    CommandLine(None)("security", "init", "--directory", tmp_path / "s", "--data-dir", tmp_path / "d", *flags)
    settings = load_settings(config_file=tmp_path / "s" / "penstock.yml", environ={})
    assert settings.kafka.advertised_address == advertised


@pytest.mark.parametrize(
    "host", ["broker.example:9092", "https://broker.example", "", 'a"b', "bücher.example", "[::1]", "999.1.1.1"]
)
def test_what_is_no_host_is_refused(tmp_path: Path, host: str) -> None:
    flags = ("--directory", tmp_path / "s", "--data-dir", tmp_path / "d")
    failed = CommandLine(None)("security", "init", *flags, "--host", "good.example", "--host", host, code=2)
    assert "is no host" in failed.err
    assert "without a scheme or a port" in failed.err
    assert list(tmp_path.iterdir()) == []
    failed = CommandLine(None)("security", "certificate", "server", *flags[:2], "--host", host, code=2)
    assert "is no host" in failed.err


def test_the_password_is_shown_once_and_files_are_for_their_user(secured: Secured) -> None:
    assert len(secured.password) >= 24
    assert secured.password not in secured.told
    for path in (*secured.files.iterdir(), secured.files):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        if path.is_file():
            assert secured.password.encode() not in path.read_bytes(), path
    for path in secured.data.rglob("*"):
        if path.is_file():
            assert secured.password.encode() not in path.read_bytes(), path


def test_a_renewed_certificate_is_taken_by_the_running_node(secured: Secured) -> None:
    def served() -> bytes:
        context = ssl.create_default_context(cafile=str(secured.files / "ca.pem"))
        raw = socket.create_connection(("127.0.0.1", secured.port), timeout=5)
        with context.wrap_socket(raw, server_hostname="localhost") as stream:
            der = stream.getpeercert(True)
        assert der is not None
        return der

    before = served()
    CommandLine(None)("security", "certificate", "server", "--directory", secured.files, "--host", "localhost")
    secured.process.send_signal(1)
    wait_until(lambda: served() != before, what="the new certificate")


def names_in(path: Path) -> tuple[list[str], bool]:
    """The names in a certificate, and whether it is for servers."""
    pem = path.read_bytes()
    return hosts_of(pem), ServerCertificate.parse(pem).is_for_servers


def test_a_certificate_of_a_node_is_renewed_for_its_names(tmp_path: Path) -> None:
    command, directory = CommandLine(None), tmp_path / "s"
    flags = ("--directory", directory)
    path, local = directory / "server.pem", ["localhost", "127.0.0.1", "::1"]
    command(
        "security", "init", *flags, "--data-dir", tmp_path / "d", "--host", "broker.example", "--listen", "10.0.0.7"
    )
    first = path.read_bytes()
    assert names_in(path) == (["broker.example", "10.0.0.7", *local], True)
    told = command("security", "certificate", "server", *flags).err
    assert path.read_bytes() != first
    assert names_in(path) == (["broker.example", "10.0.0.7", *local], True)
    assert "for broker.example, 10.0.0.7, localhost" in told
    assert "no longer" not in told
    told = command("security", "certificate", "server", *flags, "--host", "other.example").err
    assert names_in(path) == (["other.example", *local], True)
    assert "no longer in the certificate: broker.example, 10.0.0.7; clients that use these names" in told


def test_a_certificate_of_a_node_never_becomes_one_of_a_client(tmp_path: Path) -> None:
    command, directory = CommandLine(None), tmp_path / "s"
    flags = ("--directory", directory)
    command("security", "init", *flags, "--data-dir", tmp_path / "d")
    path = directory / "server.pem"
    for content, told in ((b"half of a certifi", "cannot be read"), (None, "there is none to renew")):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        key = (directory / "server.key").read_bytes()
        failed = command("security", "certificate", "server", *flags, code=2)
        assert told in failed.err
        assert "--host" in failed.err
        assert (directory / "server.key").read_bytes() == key
        command("security", "certificate", "server", *flags, "--host", "broker.example")
        assert names_in(path) == (["broker.example", "localhost", "127.0.0.1", "::1"], True)


def test_files_that_exist_are_not_replaced(tmp_path: Path) -> None:
    command = CommandLine(None)
    flags = ("--directory", tmp_path / "security", "--data-dir", tmp_path / "data")
    command("security", "init", *flags)
    before = {path.name: path.read_bytes() for path in (tmp_path / "security").iterdir()}
    failed = command("security", "init", *flags, code=2)
    assert "already, and nothing was changed" in failed.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "security").iterdir()} == before


def test_what_cannot_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    """No administrator whose password nobody was shown, and no keys where others can replace them."""
    command = CommandLine(None)
    directory, data = tmp_path / "security", tmp_path / "data"
    flags = ("--directory", directory, "--data-dir", data)
    directory.mkdir(mode=0o700)
    (directory / "server.key").symlink_to(tmp_path / "nowhere")
    assert "has server.key already, and nothing was changed" in command("security", "init", *flags, code=2).err
    (directory / "server.key").unlink()
    for mode in (0o777, 0o770):
        directory.chmod(mode)
        told = command("security", "init", *flags, code=2).err
        assert f"(its mode is {mode:04o}), and nothing was changed" in told
        assert f"chmod 700 {directory}" in told
    directory.chmod(0o700)
    file = tmp_path / "file"
    file.touch()
    told = command("security", "init", "--directory", file / "security", "--data-dir", data, code=2).err
    assert "and nothing was changed" in told
    assert "Traceback" not in told
    assert not data.exists()
    command("security", "init", *flags, "--admin", "x" * 300, code=2)
    assert list(directory.iterdir()) == []
    assert len(command("security", "init", *flags).out.strip()) >= 24


def test_the_data_of_a_running_node_are_left_alone_without_a_trace(secured: Secured, tmp_path: Path) -> None:
    directory = tmp_path / "other" / "security"
    flags = ("--directory", directory, "--data-dir", secured.data)
    assert "in use by process" in CommandLine(None)("security", "init", *flags, code=1).err
    assert not directory.parent.exists()
    directory.parent.mkdir()
    CommandLine(None)("security", "init", *flags, code=1)
    assert list(directory.parent.iterdir()) == [], "what was there stays, and nothing else"


def test_an_administrator_who_exists_gets_another_password_and_that_is_said(tmp_path: Path) -> None:
    command, data = CommandLine(None), ("--data-dir", tmp_path / "data")
    first = command("security", "init", "--directory", tmp_path / "one", *data)
    assert "already" not in first.err
    second = command("security", "init", "--directory", tmp_path / "two", *data)
    assert "had the user admin already, whose old password no longer holds" in second.err
    assert "its new password is shown this once" in second.err
    assert second.out != first.out


def test_a_certificate_for_a_client_names_it(tmp_path: Path) -> None:
    from penstock.security.tls.distinguished_name import subject_of

    command = CommandLine(None)
    command("security", "init", "--directory", tmp_path / "s", "--data-dir", tmp_path / "d", "--host", "broker.example")
    made = command("security", "certificate", "alice", "--directory", tmp_path / "s", "--days", 3)
    assert "for 3 days" in made.err
    pem = (tmp_path / "s" / "alice.pem").read_text()
    assert subject_of(ssl.PEM_cert_to_DER_cert(pem)) == "CN=alice"
    assert stat.S_IMODE((tmp_path / "s" / "alice.key").stat().st_mode) == 0o600
    assert "it is a login as User:CN=alice once the settings of the node have tls.client_auth: requested" in made.err
    longest, before = "a" * 64, sorted(path.name for path in (tmp_path / "s").iterdir())
    for bad in ("ca", "../x", "bob\neve", "bob\x1b[2J", f"{longest}1", "ä" * 33, "\udcff"):
        command("security", "certificate", bad, "--directory", tmp_path / "s", code=2)
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == before
    command("security", "certificate", longest, "--directory", tmp_path / "s")
    pem = (tmp_path / "s" / f"{longest}.pem").read_text()
    assert subject_of(ssl.PEM_cert_to_DER_cert(pem)) == f"CN={longest}"
    missing = command("security", "certificate", "bob", "--directory", tmp_path / "none", code=4)
    assert "penstock security init" in missing.err


def test_long_names_of_nodes_stay_different(tmp_path: Path) -> None:
    command, directory, label = CommandLine(None), tmp_path / "s", "a" * 60
    command("security", "init", "--directory", directory, "--data-dir", tmp_path / "d")
    subjects = set()
    for host in (f"{label}.one.example", f"{label}.other.example"):
        command("security", "certificate", "node", "--directory", directory, "--host", host)
        pem = (directory / "node.pem").read_bytes()
        assert hosts_of(pem)[0] == host
        subjects.add(x509.load_pem_x509_certificate(pem).subject.rfc4514_string())
    assert len(subjects) == 2


@pytest.mark.parametrize("directory", ["a b #c", "d: e", "it's", 'a"b', "a\\b", "$HOME", "ä", "{x}", "- x"])
def test_settings_are_read_as_they_were_meant(tmp_path: Path, directory: str) -> None:
    here = tmp_path / directory
    CommandLine(None)("security", "init", "--directory", here / "s", "--data-dir", here / "d", "--admin", directory)
    settings = load_settings(config_file=here / "s" / "penstock.yml", environ={})
    assert settings.node.data_dir == here / "d"
    assert settings.tls.certificate_file == here / "s" / "server.pem"
    assert settings.tls.key_file == here / "s" / "server.key"
    assert settings.tls.client_ca_file == here / "s" / "ca.pem"
    assert settings.acl.super_users == (f"User:{directory}",)
    properties = read_command_config(here / "s" / "client.properties")
    assert f"sasl.username={directory}" in properties
    assert f"ssl.ca.location={here / 's' / 'ca.pem'}" in properties


@pytest.mark.parametrize(
    ("directory", "admin"), [("a\nb", "admin"), ("a\udcffb", "admin"), ("a", "x,User:y"), ("a", " a"), ("a", "b\nc")]
)
def test_what_would_be_misread_is_refused(tmp_path: Path, directory: str, admin: str) -> None:
    """No password is shown for a node that could not start, or would have another administrator."""
    here = tmp_path / directory
    flags = ("--directory", here / "s", "--data-dir", here / "d", "--admin", admin)
    failed = CommandLine(None)("security", "init", *flags, code=2)
    assert "and nothing was changed" in failed.err
    assert failed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_node_that_would_be_open_to_all_does_not_start(tmp_path: Path) -> None:
    command = CommandLine(None)
    flags = ("--data-dir", tmp_path / "d", "--host", "0.0.0.0", "--kafka-port", 0, "--http-port", 0, "--push-port", 0)
    failed = command("serve", *flags, code=2)
    lines = failed.err.splitlines()
    assert [re.sub(r":\d+", "", line) for line in lines[:3]] == [
        f"penstock: the door {name} at 0.0.0.0 is PLAINTEXT: every client that reaches it gets in"
        for name in ("PLAINTEXT", "PUSH", "HTTP")
    ]
    assert lines[3].startswith("penstock: run `penstock security init`")
    assert not (tmp_path / "d").exists()


def test_insecure_is_a_warning_at_each_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ports = [f"--{door}-port=0" for door in ("kafka", "http", "push")]
    command = [sys.executable, "-m", "penstock", "serve", "--insecure", "--host", "0.0.0.0", *ports]
    with log.open("wb") as stream:
        process = subprocess.Popen([*command, "--data-dir", str(tmp_path / "d")], stderr=stream)
    try:
        wait_until(lambda: " ready " in log.read_text(), what="the node is ready", within_s=30)
    finally:
        process.terminate()
        process.wait(20)
    assert log.read_text().count("security.insecure allows it") == 3


def test_the_http_port_answers_to_the_names_in_the_certificate(tmp_path: Path) -> None:
    flags = ("--directory", tmp_path / "security", "--data-dir", tmp_path / "data")
    CommandLine(None)(
        "security", "init", *flags, "--host", "broker.example", "--host", "*.example", "--host", "10.0.0.7"
    )
    settings = load_settings(config_file=tmp_path / "security" / "penstock.yml", environ={})
    assert settings.http.allowed_hosts == ("broker.example",)
