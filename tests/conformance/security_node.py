"""A node whose doors all ask for a password, with an authenticator or an authorizer by name."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import START_DEADLINE_S
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.sasl_client import SaslClient
from tests.support.waiting import wait_until
from tests.web_login.secured import WebClient

USERS = {"alice": "alice-secret", "bob": "bob-secret"}
NAMES = ("SCRAM-SHA-256", "PLAIN")


class SecurityNode(PenstockProcess):
    """`sections` are settings besides its own."""

    def __init__(self, directory: Path, users: Mapping[str, str] = USERS, **sections: Any) -> None:
        super().__init__(directory)
        self._users = users
        self._sections = sections

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            for name, password in self._users.items():
                add_user(store, name, password, ScramMechanism, 4096)
        settings: dict[str, Any] = {
            "security": {"protocol": "SASL_PLAINTEXT"},
            "sasl": {"enabled_mechanisms": list(NAMES)},
            "logging": {"format": "json"},
        }
        for name, section in self._sections.items():
            settings.setdefault(name, {}).update(section)
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

    def kafka(self) -> SaslClient:
        return SaslClient(self.host, self.port)

    def push(self) -> PushClient:
        return PushClient(self.push_port)

    def web(self) -> WebClient:
        return WebClient(self.http_port)

    def reasons(self, user: str) -> list[str]:
        """The reasons for which logins of a user were refused."""
        complete, _, _ = self.log_file.read_text().rpartition("\n")
        lines = map(json.loads, complete.splitlines())
        return [line["reason"] for line in lines if line["message"] == "login failed" and line["user"] == user]


@contextlib.contextmanager
def running(node: SecurityNode) -> Iterator[SecurityNode]:
    node.prepare()
    node.start()
    try:
        yield node
    finally:
        node.stop()
