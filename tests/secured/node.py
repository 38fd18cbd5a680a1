"""A node whose doors are all encrypted and ask for a login or a certificate, and its clients."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import START_DEADLINE_S, free_port
from tests.support.certificates import Authority, Issued
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.push_login import MECHANISMS
from tests.support.sasl_client import SaslClient
from tests.support.waiting import wait_until
from tests.web_login.secured import WebClient

ADMIN, PASSWORD = "admin", "admin-secret"
FAILURE_DELAY_MS = 100
SESSION_MS = 3_600_000


class SecuredNode(PenstockProcess):
    """Listeners: OPEN is for the tests' own use, CLIENTS, PUSH and HTTP ask for a login, MUTUAL for a certificate.

    The user `admin`, the certificate `CN=admin` and clients of OPEN may do everything.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.authority = Authority(directory / "tls")
        self.certificate = self.authority.issue("server")
        self.revocations = self.authority.revocations()
        kafka = {"OPEN": self.port, "CLIENTS": free_port(), "MUTUAL": free_port()}
        self.ports = {**kafka, "PUSH": self.push_port, "HTTP": self.http_port}

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            add_user(store, ADMIN, PASSWORD, ScramMechanism, 4096)
        settings: dict[str, Any] = {
            "listeners": {
                "addresses": ",".join(f"{name}://{self.host}:{port}" for name, port in self.ports.items()),
                "protocols": "OPEN:PLAINTEXT,CLIENTS:SASL_SSL,MUTUAL:SSL,PUSH:SASL_SSL,HTTP:SASL_SSL",
                "overrides": {
                    "mutual.ssl.client.auth": "required",
                    "clients.connections.max.reauth.ms": str(SESSION_MS),
                    "push.connections.max.reauth.ms": str(SESSION_MS),
                },
            },
            "tls": {
                "certificate_file": str(self.certificate.certificate_file),
                "key_file": str(self.certificate.key_file),
                "client_ca_file": str(self.authority.file),
                "client_auth": "requested",
                "crl_file": str(self.revocations),
                "reload_interval_ms": 100,
            },
            "sasl": {"enabled_mechanisms": list(MECHANISMS), "failed_authentication_delay_ms": FAILURE_DELAY_MS},
            "acl": {"enabled": True, "super_users": f"User:ANONYMOUS;User:{ADMIN};User:CN={ADMIN}"},
            "http": {"idle_timeout_ms": 600_000},  # connections stay, however slow the machine is
            "groups": {"initial_rebalance_delay_ms": 0},
            "logging": {"format": "json"},
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()

    def start(self) -> None:
        super().start()
        wait_until(self._answers_http, what="the HTTP port is open", within_s=START_DEADLINE_S)

    def _answers_http(self) -> bool:
        with contextlib.closing(self.web()) as client:
            try:
                return client.ask("/health/live").status == 200
            except OSError:
                return False

    # --- clients -----------------------------------------------------------------------------------------------------

    def admin(self) -> SaslClient:
        return SaslClient(self.host, self.port)

    def kafka(self, listener: str = "CLIENTS", certificate: Issued | None = None, *, source: str = "") -> SaslClient:
        context = self.context(certificate)
        return SaslClient(self.host, self.ports[listener], context=context, source=source)

    def push(self, certificate: Issued | None = None, *, source: str = "") -> PushClient:
        return PushClient(self.ports["PUSH"], context=self.context(certificate), source=source)

    def web(self, certificate: Issued | None = None, *, source: str = "127.0.0.1") -> WebClient:
        return WebClient(self.ports["HTTP"], self.context(certificate), source=source)

    def context(self, certificate: Issued | None = None) -> ssl.SSLContext:
        return self.authority.client_context(certificate)

    # --- its log -----------------------------------------------------------------------------------------------------

    def lines(self) -> list[dict[str, Any]]:
        """The lines of its log, all of which are JSON."""
        complete, _, _ = self.log_file.read_text().rpartition("\n")
        return [json.loads(line) for line in complete.splitlines()]

    @contextlib.contextmanager
    def one_line(self, text: str) -> Iterator[None]:
        """The block leaves exactly one line of its clients in the log, with the text in it, and no traceback."""
        before = len(self.lines())
        yield

        def said() -> list[dict[str, Any]]:
            return [line for line in self.lines()[before:] if is_about_clients(line)]

        wait_until(said, what="there is a line in the log")
        # A second line would come with the first or right behind it; the request below is served after both.
        with self.admin() as admin:
            admin.call("api_versions", 0)
        found = said()
        assert len(found) == 1, found
        assert text in json.dumps(found[0]), found[0]
        assert found[0]["level"] in ("INFO", "WARNING"), found[0]


def is_about_clients(line: dict[str, Any]) -> bool:
    """Whether a line is about a client that was refused: not about files, nor about one that got in."""
    if line["module"] == "penstock.audit":
        return bool(line["message"] == "login failed")
    is_of_a_door = str(line["module"]).startswith(("penstock.net", "penstock.broker", "penstock.node.web_server"))
    return is_of_a_door and line["message"] != "listening"
