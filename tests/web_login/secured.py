"""A broker whose HTTP clients have to log in, and a client that stays on its connection."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import START_DEADLINE_S
from tests.support.certificates import Authority, Issued
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

USERS = {"admin": "admin-secret", "alice": "alice:secret é", "bob": "bob-secret"}

PULLS_MAX = 8
"""Of the pipe, at a broker of these tests."""


def basic(user: str, password: str) -> str:
    return basic_bytes(f"{user}:{password}".encode())


def basic_bytes(content: bytes) -> str:
    return f"Basic {base64.b64encode(content).decode()}"


def login_of(user: str) -> str:
    return basic(user, USERS[user])


class WebAnswer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def detail(self) -> str:
        """The detail of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["detail"])


class SlowBody(NamedTuple):
    """A request whose body is under way."""

    connection: http.client.HTTPConnection
    rest: bytes
    answer: Callable[[], WebAnswer]

    @property
    def port(self) -> int:
        """The client's own."""
        return int(self.connection.sock.getsockname()[1])

    def finish(self) -> WebAnswer:
        self.connection.send(self.rest)
        return self.answer()


class WebClient:
    """One connection, kept from request to request. `context` is that of TLS."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None, *, source: str = "127.0.0.1") -> None:
        own = (source, 0)
        self._connection = (
            http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=own)
            if context is None
            else http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context, source_address=own)
        )

    def ask(
        self, path: str, login: str | None = None, *, method: str = "GET", body: object = None, **headers: str
    ) -> WebAnswer:
        """Send a request, whose body is bytes or becomes JSON; an underscore in a header's name means a dash."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if login is not None:
            sent["Authorization"] = login
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not body:
            sent["Content-Type"] = "application/json"
        self._connection.request(method, path, content, sent)
        return self._answer()

    def ask_in_chunks(self, path: str, login: str, body: object) -> WebAnswer:
        """Send JSON in a POST, every byte in a chunk of its own."""
        pieces = (bytes([byte]) for byte in json.dumps(body).encode())
        sent = {"Authorization": login, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        self._connection.request("POST", path, pieces, sent, encode_chunked=True)
        return self._answer()

    def begin(self, path: str, body: object, **headers: str) -> SlowBody:
        """Send the header of a POST and half of its JSON."""
        content = json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}
        self._connection.putrequest("POST", path)
        for name, value in sent.items():
            self._connection.putheader(name, value)
        half = len(content) // 2
        self._connection.endheaders(content[:half])
        return SlowBody(self._connection, content[half:], self._answer)

    def _answer(self) -> WebAnswer:
        answer = self._connection.getresponse()
        return WebAnswer(answer.status, answer.headers, answer.read())

    @property
    def is_open(self) -> bool:
        """Whether the next request goes over the same connection."""
        return self._connection.sock is not None

    def close(self) -> None:
        self._connection.close()


class WebProcess(PenstockProcess):
    """`settings` are those of sections besides its own. bob may do anything to topics whose names begin with `bob-`."""

    def __init__(
        self, directory: Path, protocol: str = "SASL_SSL", *, http: Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        super().__init__(directory)
        self.authority = Authority(directory / "tls")
        self._certificate = self.authority.issue("server")
        self._protocol = protocol
        self._http = http or {}
        self._settings = settings

    def client(self, certificate: Issued | None = None) -> WebClient:
        has_tls = self._protocol.endswith("SSL")
        return WebClient(self.http_port, self.authority.client_context(certificate) if has_tls else None)

    def start(self) -> None:
        super().start()
        wait_until(self._answers_http, what="the HTTP port is open", within_s=START_DEADLINE_S)

    def _answers_http(self) -> bool:
        client = self.client()
        try:
            return client.ask("/health/live").status == 200
        except OSError:
            return False
        finally:
            client.close()

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            for name, password in USERS.items():
                add_user(store, name, password, ScramMechanism, 4096)
        policy = self.directory / "acl.json"
        policy.write_text(json.dumps({"super_users": ["User:admin"], "acls": [_rule("bob"), _rule("CARL")]}))
        settings: dict[str, Any] = {
            "listeners": {
                "addresses": f"PLAIN://{self.host}:{self.port}",
                "protocols": f"PLAIN:PLAINTEXT,PUSH:PLAINTEXT,HTTP:{self._protocol}",
            },
            "acl": {"enabled": True, "policy_file": str(policy), "super_users": "User:ANONYMOUS"},
            "http": {"idle_timeout_ms": 600_000, **self._http},  # connections stay, however slow the machine is
            "logging": {"format": "json"},
            "pipe": {"pulls_max": PULLS_MAX},
            **self._settings,
        }
        if self._protocol.endswith("SSL"):
            settings["tls"] = {
                "certificate_file": str(self._certificate.certificate_file),
                "key_file": str(self._certificate.key_file),
                "client_ca_file": str(self.authority.file),
                "client_auth": "requested",
                "principal_mapping_rules": "RULE:^CN=([a-z]+)$/$1/U,RULE:^CN=([A-Z]+)$/$1/",
            }
        self._config = yaml.safe_dump(settings)
        super().prepare()


def _rule(user: str) -> dict[str, object]:
    return {
        "principal": f"User:{user}",
        "operation": "ALL",
        "permission": "ALLOW",
        "resource": {"type": "TOPIC", "name": f"{user.lower()}-", "pattern": "PREFIXED"},
    }
