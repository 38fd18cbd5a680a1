"""Random words in every place that takes a secret, and a run with everything that logs in, fails and breaks.

No word is in a log, a metric, an answer, an error, the output of a command or a file of the data directory, neither as
it is nor in an encoding in which it travels.
"""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.command_line import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.random_words import Words, forms
from tests.support.raw_client import RawClient
from tests.support.secret_settings import ELSEWHERE, PASSWORDS, WORDS, given, lines_away
from tests.support.wire import encode_request, frame
from tests.web_login.secured import WebClient, basic

pytestmark = pytest.mark.full

PLACES = ("setting", "admin", "alice", "changed", "wrong", "garbage", "token", "session")


class Node(PenstockProcess):
    """Every door asks for a login and has TLS, with a key that has a password; one is plain, for the test itself."""

    def __init__(self, directory: Path, words: Words) -> None:
        super().__init__(directory)
        self.words = words
        self.authority = Authority(directory / "tls")
        self.logins = free_port()
        server = self.authority.issue("server")
        key = serialization.load_pem_private_key(server.key_file.read_bytes(), None)
        server.key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(words["setting"].encode()),
            )
        )
        settings = {
            "listeners": {
                "addresses": f"PLAIN://{self.host}:{self.port},LOGINS://{self.host}:{self.logins}",
                "protocols": "PLAIN:PLAINTEXT,LOGINS:SASL_SSL,PUSH:SASL_SSL,HTTP:SASL_SSL",
            },
            "tls": {"certificate_file": str(server.certificate_file), "key_file": str(server.key_file)},
            "sasl": {"enabled_mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"]},
            "acl": {"enabled": True, "super_users": "User:admin;User:ANONYMOUS"},
            "logging": {"level": "DEBUG", "modules": {"audit": "DEBUG"}},
        }
        self._config = yaml.safe_dump(settings)

    def environment(self) -> dict[str, str]:
        return super().environment() | given(self.words["setting"], *PASSWORDS) | lines_away(*PASSWORDS)


class Run:
    """The node, and everything that anybody was told."""

    def __init__(self, directory: Path) -> None:
        self.words = Words(*PLACES)
        self.directory = directory
        self.node = Node(directory, self.words)
        self.told: list[tuple[str, bytes]] = []
        self._command = CommandLine(f"{self.node.host}:{self.node.logins}")

    def command(self, *args: object, code: int = 0, **environ: str) -> str:
        outcome = self._command(*args, code=code, **environ)
        self.told.append((" ".join(map(str, args)), (outcome.out + outcome.err).encode()))
        return outcome.out

    def properties(self, user: str, place: str, mechanism: str = "SCRAM-SHA-512") -> Path:
        path = self.directory / f"{user}-{place}-{mechanism}.properties"
        path.write_text(
            f"security.protocol=SASL_SSL\nssl.ca.location={self.node.authority.file}\nsasl.mechanism={mechanism}\n"
            f"sasl.username={user}\nsasl.password={self.words[place]}\n"
        )
        path.chmod(0o600)
        return path

    def ask(self, path: str, login: str | None = None, method: str = "GET", **headers: str) -> WebClient:
        """A request over HTTP; its answer is kept, headers and all."""
        client = WebClient(self.node.http_port, self.node.authority.client_context())
        answer = client.ask(path, login, method=method, **headers)
        shown = [f"{name}: {value}" for name, value in answer.headers.items() if name.lower() != "set-cookie"]
        self.told.append((f"{method} {path}", "\n".join(shown).encode() + answer.body))
        if cookie := answer.headers["set-cookie"]:
            self.words["session"] = cookie.partition("=")[2].partition(";")[0]
        client.close()
        return client


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    password = run.directory / "password"
    for user in ("admin", "alice"):
        password.write_text(run.words[user])
        password.chmod(0o600)
        run.command("security", "user", "add", user, "--data-dir", run.node.data_directory, "--password-file", password)
    run.node.prepare()
    run.node.start()
    yield run
    run.node.stop()


def settings_are_shown(run: Run) -> None:
    """Also by a node that does not come up."""
    for secrets in (PASSWORDS, WORDS, ELSEWHERE):
        environ = given(run.words["setting"], *secrets)
        for output in ("table", "json"):
            run.command("config", "show", "--explain", "-o", output, code=0, **environ)
    wrong = given(run.words["wrong"], *PASSWORDS)
    ports = ("--http-port", 0, "--push-port", 0, "--set", "listeners.addresses=LOGINS://127.0.0.1:0")
    place = ("--config", run.node._config_file, "--data-dir", run.directory / "other", *ports)
    run.command("serve", *place, code=2, **wrong)
    run.command("serve", *place, "--set", f"tls.key_password={run.words['wrong']}", code=2)
    broken = run.directory / "broken.yml"
    broken.write_text(f"tls: {{key_password: {run.words['wrong']}\nfoo: [")
    broken.chmod(0o600)
    run.command("serve", "--config", broken, code=2)


def kafka_clients_log_in(run: Run) -> None:
    for mechanism in ("SCRAM-SHA-256", "PLAIN"):
        run.command("topic", "list", "--command-config", run.properties("admin", "admin", mechanism))
        run.command("topic", "list", "--command-config", run.properties("admin", "wrong", mechanism), code=1)
    as_admin = ("--command-config", run.properties("admin", "admin"))
    changed = run.directory / "changed"
    changed.write_text(run.words["changed"])
    changed.chmod(0o600)
    run.command("security", "user", "password", "alice", "--password-file", changed, *as_admin)
    run.command("security", "user", "list", *as_admin)
    run.command("security", "acl", "list", *as_admin)


def push_clients_log_in(run: Run) -> None:
    place = ("--host", run.node.host, "--port", run.node.push_port)
    run.command("push", "create-topic", "words", *place, "--command-config", run.properties("admin", "admin"))
    run.command("push", "publish", "words", "x", *place, "--command-config", run.properties("admin", "wrong"), code=1)


def http_clients_log_in(run: Run) -> None:
    admin, garbage = basic("admin", run.words["admin"]), run.words["garbage"]
    for path in ("/health/ready", "/metrics", "/pipe/status", "/api/v1/brokers/1/configs", "/api/v1/nowhere"):
        run.ask(path, admin)
    run.ask("/api/v1/topics", basic("admin", run.words["wrong"]))
    run.ask("/api/v1/topics", basic("nobody", garbage))
    for login in (f"Basic {garbage}", f"Bearer pst_{garbage}", f"Bearer {garbage}", garbage, f"Digest {garbage}"):
        run.ask("/api/v1/topics", login)
    run.ask("/api/v1/topics", Cookie=f"__Host-penstock-session={garbage}")
    run.ask("/api/v1/session", admin, "POST")
    run.ask("/api/v1/session", Cookie=f"__Host-penstock-session={run.words['session']}")
    url = ("--url", f"https://localhost:{run.node.http_port}", "--command-config", run.properties("admin", "admin"))
    made = run.command("security", "token", "create", "backup", *url)
    run.told.pop()  # the one place where the word of a token is shown
    run.words["token"] = made.strip().removeprefix("pst_")
    run.ask("/api/v1/topics", f"Bearer {made.strip()}")
    run.command("security", "token", "list", *url)


def frames_are_broken(run: Run) -> None:
    """Passwords in messages that are none, before a handshake, without TLS, and as a request of another kind."""
    garbage = run.words["garbage"].encode()
    plain = frame(encode_request("sasl_handshake", 1, 1, {"mechanism": "PLAIN"}))
    scram = frame(encode_request("sasl_handshake", 1, 1, {"mechanism": "SCRAM-SHA-256"}))
    token = frame(encode_request("sasl_authenticate", 2, 2, {"auth_bytes": garbage}))
    for port in (run.node.logins, run.node.push_port, run.node.port):
        for content in (plain + token, scram + token, token, garbage, frame(garbage), b"\x16\x03\x01" + garbage):
            for context in (None, run.node.authority.client_context()):
                raw = socket.create_connection((run.node.host, port), timeout=20)
                try:
                    stream = context.wrap_socket(raw, server_hostname="localhost") if context else raw
                    stream.sendall(content)
                    stream.shutdown(socket.SHUT_WR)
                    while stream.recv(4096):
                        pass
                except OSError:
                    pass  # closed before the end, or no TLS there
                finally:
                    raw.close()


def settings_are_described(run: Run) -> None:
    with RawClient(run.node.host, run.node.port) as client:
        for kind, name in ((4, "1"), (4, ""), (8, "1")):
            resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
            values = {"resources": [resource], "include_synonyms": True, "include_documentation": True}
            run.told.append(("describe_configs", repr(client.call("describe_configs", 4, **values)).encode()))
        users = client.call("describe_user_scram_credentials", 0, users=None)
        run.told.append(("users", repr(users).encode()))


def test_no_secret_is_anywhere(run: Run) -> None:
    settings_are_shown(run)
    kafka_clients_log_in(run)
    push_clients_log_in(run)
    http_clients_log_in(run)
    frames_are_broken(run)
    settings_are_described(run)
    pid = run.node.pid
    run.node.stop()
    run.node.start()
    assert run.node.pid != pid
    run.node.kill9()
    log = run.node.log_file.read_bytes()
    assert b"DEBUG" in log
    assert b'"message": "login failed"' in log
    run.told.append(("the log", log))
    for path in run.node.data_directory.rglob("*"):
        if path.is_file():
            run.told.append((str(path), path.read_bytes()))
    keys = [path.read_text() for path in (run.directory / "tls").glob("*.key")]
    lines = [line.encode() for key in keys for line in re.findall(r"^[A-Za-z0-9+/=]{40,}$", key, re.MULTILINE)]
    assert lines
    found = {what: run.words.found_in(content) for what, content in run.told}
    found |= {what: ["private key"] for what, content in run.told if any(line in content for line in lines)}
    assert {what: places for what, places in found.items() if places} == {}


@pytest.mark.parametrize("form", range(5))
def test_a_word_is_found_in_every_form(form: int) -> None:
    words = Words(*PLACES)
    content = list(forms(words["alice"]))[form]
    assert words.found_in(b"before" + content + b"after") == ["alice"]
    for lead in (b"", b"x", b"xy"):
        assert words.found_in(base64.b64encode(lead + words["token"].encode() + b"z")) == ["token"]
