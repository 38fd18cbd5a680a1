"""Random words in the secrets of a registry, of an edge application, and of a node with defects of its own.

No word is in a log, with its tracebacks, in an answer or in a file that the process has written.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from tests.outside.test_random_word import Node
from tests.support import defective
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority
from tests.support.command_line import CommandLine
from tests.support.penstock_process import PENSTOCK
from tests.support.random_words import Words
from tests.support.raw_client import RawClient
from tests.support.secured_hierarchy import write_users
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed
from tests.web_login.secured import WebClient, basic

pytestmark = pytest.mark.full

PLACES = ("setting", "admin", "alice", "wrong", "garbage", "token", "broken", "line")
DEFECTIVE = [sys.executable, "-P", defective.__file__]
PATHS = ("/health/ready", "/health", "/metrics", "/registry/nodes", "/messages", "/stats", "/api/v1/topics", "/nowhere")


class Lone(BrokerProcess):
    """A registry or an edge application with the defects: TLS, whose key has a password, and logins."""

    def __init__(self, directory: Path, words: Words, *arguments: object) -> None:
        super().__init__(directory)
        self.words = words
        self.authority = Authority(directory / "tls")
        self._arguments = arguments
        self.kind = str(arguments[0])

    def prepare(self) -> None:
        server = self.authority.issue("server")
        key = serialization.load_pem_private_key(server.key_file.read_bytes(), None)
        hidden = serialization.BestAvailableEncryption(self.words["setting"].encode())
        pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        server.key_file.write_bytes(key.private_bytes(*pem, hidden))
        write_users(self.directory / "users.json", {"admin": self.words["admin"]})
        settings = {
            "security": {"protocol": "SASL_SSL", "users_file": str(self.directory / "users.json")},
            "tls": {"certificate_file": str(server.certificate_file), "key_file": str(server.key_file)},
            "acl": {"enabled": True, "super_users": "User:admin"},
        }
        (self.directory / "port.yml").write_text(yaml.safe_dump(settings))

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PENSTOCK_TLS__KEY_PASSWORD": self.words["setting"]}

    def command(self) -> list[str]:
        flags = ("--port", self.port, "--data-dir", self.directory / "data", "--config", self.directory / "port.yml")
        return [*DEFECTIVE, *map(str, (*self._arguments, *flags, "--log-level", "DEBUG"))]

    def _ready(self) -> bool:
        assert self.running, "it has ended"
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0


class DefectiveNode(Node):
    def command(self) -> list[str]:
        return [*DEFECTIVE, *super().command()[len(PENSTOCK) :]]


@contextmanager
def started(process: BrokerProcess) -> Iterator[None]:
    process.prepare()
    process.start()
    try:
        yield
    finally:
        process.stop()


def ask_in_every_way(port: int, authority: Authority, words: Words) -> bytes:
    """Requests with logins that are right, wrong, none at all, and lead to a defect. Returns all answers."""
    garbage = words["garbage"]
    logins = [None, basic("admin", words["admin"]), basic("admin", words["wrong"]), basic("nobody", words["wrong"])]
    logins += [f"Bearer pst_{words['token']}", f"Bearer {garbage}", f"Basic {garbage}", garbage]
    asked = [(path, login) for path in PATHS for login in logins[:2]] + [("/metrics", login) for login in logins]
    asked.append(("/metrics", basic(defective.USER, words["broken"])))
    told = b""
    for path, login in asked:
        client = WebClient(port, authority.client_context())
        try:
            answer = client.ask(path, login)
            told += answer.body + repr(answer.headers.items()).encode()
        except OSError:
            pass  # closed over the login
        finally:
            client.close()
    return told


def files_of(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["registry", "edge"])
def test_no_secret_is_in_a_registry_or_an_edge(tmp_path: Path, kind: str) -> None:
    words = Words(*PLACES)
    with ExitStack() as stack:
        arguments: tuple[object, ...] = ("registry", "serve")
        if kind == "edge":
            (tmp_path / "node").mkdir()
            node = Node(tmp_path / "node", words)
            stack.enter_context(started(node))
            properties = tmp_path / "broker.properties"
            properties.write_text(
                f"security.protocol=SASL_SSL\nssl.ca.location={node.authority.file}\nsasl.mechanism=PLAIN\n"
                f"sasl.username=alice\nsasl.password={words['line']}\n"
            )
            properties.chmod(0o600)
            arguments = ("edge", "--type", "plain", "--topic", "t", "--group", "g", "--command-config", properties)
            arguments += ("--broker-host", node.host, "--broker-port", node.push_port)
        (tmp_path / kind).mkdir()
        process = Lone(tmp_path / kind, words, *arguments)
        with started(process):
            answers = ask_in_every_way(process.port, process.authority, words)
            if kind == "edge":
                refused = b"does not let this client in"
                wait_until(lambda: refused in process.log_file.read_bytes(), what="the broker refuses the edge")
        log = process.log_file.read_bytes()
        if kind == "edge":
            log += node.log_file.read_bytes()
    assert defective.DEFECT.encode() in log
    assert b"Traceback" in log
    assert b'"message": "login failed"' in log
    assert words.found_in(log) == []
    assert words.found_in(answers) == []
    assert words.found_in(files_of(process.directory / "data")) == []
    wrong = CommandLine(None)
    command = ("registry", "serve") if kind == "registry" else ("edge",)
    place = ("--port", 0, "--data-dir", tmp_path / "other", "--config", process.directory / "port.yml")
    told = wrong(*command, *place, code=2, PENSTOCK_TLS__KEY_PASSWORD=words["wrong"])
    assert words.found_in((told.out + told.err).encode()) == []


def test_no_secret_is_in_a_traceback(tmp_path: Path) -> None:
    """Errors of our own, while secrets are in the settings, and in the middle of logins."""
    words = Words(*PLACES)
    node = DefectiveNode(tmp_path, words)
    with started(node):
        with RawClient(node.host, node.port) as client, pytest.raises(ConnectionClosed):
            client.call("describe_cluster", 0)
        answers = ask_in_every_way(node.http_port, node.authority, words)
        properties = tmp_path / "broken.properties"
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            properties.write_text(
                f"security.protocol=SASL_SSL\nssl.ca.location={node.authority.file}\nsasl.mechanism={mechanism}\n"
                f"sasl.username={defective.USER}\nsasl.password={words['broken']}\n"
            )
            properties.chmod(0o600)
            place = ("--host", node.host, "--port", node.push_port, "--command-config", properties)
            told = CommandLine(None)("push", "create-topic", "t", *place, code=1)
            answers += (told.out + told.err).encode()
    log = node.log_file.read_bytes()
    assert log.count(b"Traceback") >= 3
    assert log.count(defective.DEFECT.encode()) >= 3
    assert b"key_password" in log, "the settings are in the text of an error"
    assert words.found_in(log) == []
    assert words.found_in(answers) == []
