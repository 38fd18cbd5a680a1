"""A hierarchy in which every line has TLS, a login and rules: a registry, nodes below one another, an edge application.

Each process has a policy file, which `rules` replaces while it runs, and `ask` sends requests as one of the users.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.node.security.users_file import change_users
from penstock.security.users.credential import ScramMechanism, make_credential
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.certificates import Authority, Issued
from tests.support.http_client import HttpAnswer
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

USERS = {name: f"{name}-secret" for name in ("admin", "root-1", "l2-a", "local-1", "till", "stranger")}
ITERATIONS = 4_096
POLL_INTERVAL_MS = 300


def rule(user: str, operation: str, kind: str, name: str) -> dict[str, object]:
    return {"principal": f"User:{user}", "operation": operation, "resource": {"type": kind, "name": name}}


def on_cluster(user: str, operation: str) -> dict[str, object]:
    return rule(user, operation, "CLUSTER", "kafka-cluster")


class Secured:
    """What all these processes have. `url` is that of the HTTP port."""

    directory: Path
    log_file: Path
    pid: int
    running: bool

    def secure(self, authority: Authority, certificate: Issued | None, rules: list[dict[str, object]]) -> None:
        self.authority = authority
        self.certificate = certificate or authority.issue("server", file_name=f"server-{self.directory.name}")
        self._policy_file = self.directory / "policy.json"
        self._write(rules)

    @property
    def url(self) -> str:
        raise NotImplementedError

    @cached_property
    def _context(self) -> ssl.SSLContext:
        context = self.authority.client_context()
        context.check_hostname = False  # tests of names have certificates for others
        context.verify_mode = ssl.CERT_NONE
        return context

    def protection(self, **more: Any) -> dict[str, Any]:
        """The settings of the doors."""
        return {
            "security": {"protocol": "SASL_SSL", **more},
            "tls": {
                "certificate_file": str(self.certificate.certificate_file),
                "key_file": str(self.certificate.key_file),
                "client_ca_file": str(self.authority.file),
                "client_auth": "requested",
                "principal_mapping_rules": "RULE:^CN=(.*)$/$1/",
            },
            "acl": {"enabled": True, "super_users": "User:admin", "policy_file": str(self._policy_file)},
        }

    def _write(self, rules: list[dict[str, object]]) -> None:
        new = self._policy_file.with_suffix(".new")
        new.write_text(json.dumps({"acls": rules}))
        new.replace(self._policy_file)

    def rules(self, *rules: dict[str, object]) -> None:
        """Put other rules in force."""
        self._write(list(rules))
        self.reload()

    def reload(self) -> None:
        os.kill(self.pid, signal.SIGHUP)

    def ask(
        self, path: str, user: str | None = "admin", method: str = "GET", document: object = None, *, password: str = ""
    ) -> HttpAnswer:
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.url + path, body, method=method)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        if user is not None:
            word = base64.b64encode(f"{user}:{password or USERS[user]}".encode()).decode()
            request.add_header("Authorization", f"Basic {word}")
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
                return HttpAnswer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return HttpAnswer(error.code, error.headers, error.read())

    def answers(self) -> bool:
        assert self.running, "it has ended"
        try:
            return self.ask("/health/live", None).status == 200
        except OSError:
            return False

    def log_lines(self, text: str) -> list[str]:
        return [line for line in self.log_file.read_text().splitlines() if text in line]


def write_users(path: Path, users: Mapping[str, str]) -> None:
    for name, password in users.items():
        made = {each: make_credential(each, password, ITERATIONS) for each in ScramMechanism}
        change_users(path, lambda document, name=name, made=made: document.with_user(name, made))  # type: ignore[misc]


class SecuredRegistry(Secured, BrokerProcess):
    kind = "registry"

    def __init__(self, directory: Path, authority: Authority, certificate: Issued | None = None) -> None:
        BrokerProcess.__init__(self, directory)
        nodes = [on_cluster(user, "CLUSTER_ACTION") for user in ("root-1", "l2-a", "local-1", "till")]
        self.secure(authority, certificate, nodes)
        self.users_file = directory / "users.json"

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def prepare(self) -> None:
        write_users(self.users_file, USERS)
        settings = self.protection(users_file=str(self.users_file))
        (self.directory / "registry.yml").write_text(yaml.safe_dump(settings))

    def command(self) -> list[str]:
        flags = ["--data-dir", str(self.directory / "registry"), "--port", str(self.port)]
        flags += ["--config", str(self.directory / "registry.yml")]
        return [sys.executable, "-m", "penstock", "registry", "serve", *flags]

    def _ready(self) -> bool:
        return self.answers()

    def node(self, node_id: str) -> Any:
        answer = self.ask(f"/registry/nodes/{node_id}")
        return answer.json if answer.status == 200 else None


class SecuredNode(Secured, PenstockProcess):
    """A node whose principal elsewhere is its id. `registry` and `pipe` are settings of these sections."""

    def __init__(
        self,
        directory: Path,
        authority: Authority,
        *rules: dict[str, object],
        registry: Mapping[str, Any] | None = None,
        pipe: Mapping[str, Any] | None = None,
        consumers: Mapping[str, Any] | None = None,
    ) -> None:
        PenstockProcess.__init__(self, directory, "")
        self.secure(authority, None, list(rules))
        self._more = {"registry": dict(registry or {}), "pipe": dict(pipe or {}), "consumers": dict(consumers or {})}

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.http_port}"

    @property
    def properties(self) -> dict[str, str]:
        """Properties of a client of the administrator, under Kafka's names."""
        return self.properties_of("admin")

    def properties_of(self, user: str) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": user,
            "sasl.password": USERS[user],
            "ssl.ca.location": str(self.authority.file),
        }

    def prepare(self) -> None:
        if not self.data_directory.exists():
            with offline_metadata(self.data_directory) as store:
                for name, password in USERS.items():
                    add_user(store, name, password, ScramMechanism, ITERATIONS)
        self._config = yaml.safe_dump(
            {
                "node": {"id": self.directory.name},
                **self.protection(),
                "groups": {"initial_rebalance_delay_ms": 0},
                **{section: values for section, values in self._more.items() if values},
            }
        )
        super().prepare()

    def _ready(self) -> bool:
        return self.answers()

    @property
    def pipe(self) -> dict[str, Any]:
        return dict(self.ask("/pipe/status").json)

    def mirror(self, topic: str) -> dict[str, Any]:
        return next((each for each in self.pipe["topics"] if each["name"] == topic), {})

    def end(self, topic: str) -> int:
        """The high watermark of partition 0; -1 if there is no such topic."""
        for each in self.ask("/pipe/topics").json["topics"]:
            if each["name"] == topic:
                return int(each["partitions"][0]["logEnd"])
        return -1

    def wait_for_end(self, topic: str, end: int) -> None:
        wait_until(lambda: self.end(topic) == end, what=f"{topic} of {self.directory.name} has {end} records")

    def produce(self, topic: str, *values: str) -> None:
        """Write records, each in a request of its own."""
        for value in values:
            answer = self.ask(f"/api/v1/topics/{topic}/messages", method="POST", document={"value": value})
            assert answer.status == 201, answer.body


def trusting(authority: Authority, user: str) -> dict[str, str]:
    """The settings of a node that logs in with a password."""
    return {"ca_file": str(authority.file), "username": user, "password": USERS[user]}


class SecuredEdge(Secured, BrokerProcess):
    kind = "edge"

    def __init__(self, directory: Path, authority: Authority, broker: SecuredNode, topic: str, user: str) -> None:
        BrokerProcess.__init__(self, directory)
        self.secure(authority, None, [rule("till", "READ", "TOPIC", topic)])
        self._broker, self._topic = broker, topic
        self.users_file = directory / "users.json"
        self.properties_file = directory / "broker.properties"
        self.properties_file.write_text("".join(f"{k}={v}\n" for k, v in broker.properties_of(user).items()))
        self.http_port = free_port()

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.http_port}"

    def prepare(self) -> None:
        write_users(self.users_file, USERS)
        settings = self.protection(users_file=str(self.users_file))
        (self.directory / "edge.yml").write_text(yaml.safe_dump(settings))

    def command(self) -> list[str]:
        flags = ["--type", "plain", "--topic", self._topic, "--group", "till", "--port", str(self.http_port)]
        flags += ["--broker-host", self._broker.host, "--broker-port", str(self._broker.push_port)]
        flags += ["--data-dir", str(self.directory / "data"), "--command-config", str(self.properties_file)]
        return [sys.executable, "-m", "penstock", "edge", *flags, "--config", str(self.directory / "edge.yml")]

    def _ready(self) -> bool:
        return self.answers()
