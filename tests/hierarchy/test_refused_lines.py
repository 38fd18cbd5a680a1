"""A node that must not get in, or that must not trust the other side: it says why, in one line, and no data flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import DAY, Authority, Issued
from tests.support.registry_process import all_running
from tests.support.secured_hierarchy import POLL_INTERVAL_MS, USERS, SecuredNode, SecuredRegistry, rule, trusting
from tests.support.waiting import wait_until

TOPIC = "prices"
PIPE = {"poll_interval_ms": 100, "wait_ms": 1000, "unhealthy_failures": 1}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[SecuredNode]:
    node = SecuredNode(tmp_path_factory.mktemp("refused") / "root-1", authority, rule("l2-a", "READ", "TOPIC", TOPIC))
    with all_running(node):
        assert node.ask("/api/v1/topics", method="POST", document={"name": TOPIC, "partitions": 1}).status == 201
        node.produce(TOPIC, "one")
        yield node


def child(directory: Path, authority: Authority, url: str, login: dict[str, str]) -> SecuredNode:
    """A node that asks the same address as its registry and as its parent."""
    registry = {"url": url, "poll_interval_ms": POLL_INTERVAL_MS, **login}
    return SecuredNode(directory / "l2-a", authority, registry=registry, pipe={"parent_url": url, **PIPE, **login})


def check_refusal(node: SecuredNode, reason: str) -> None:
    """Both lines name the reason in the status, and in one line of the log each."""

    def told() -> dict[str, Any]:
        return dict(node.ask("/health/ready").json["warnings"])

    wait_until(lambda: {"registry", "pipe"} <= told().keys(), what="both lines are told to be down")
    assert reason in told()["registry"]
    assert reason in str(node.pipe["lastFailure"])
    assert node.pipe["health"] == "UNHEALTHY"
    wait_until(lambda: node.pipe["failuresInARow"] > 2, what="it has tried again")
    assert len([line for line in node.log_lines(reason) if "topology.pipe" in line]) == 1
    assert len([line for line in node.log_lines(reason) if "topology.client" in line]) == 1
    assert node.end(TOPIC) == -1
    log = node.log_file.read_text()
    assert not [password for password in USERS.values() if password in log]


def test_a_wrong_password(tmp_path: Path, authority: Authority, root: SecuredNode) -> None:
    node = child(tmp_path, authority, root.url, {**trusting(authority, "l2-a"), "password": "wrong"})
    with all_running(node):
        check_refusal(node, "the user name or the password is wrong")
        assert root.log_lines('"login failed"')


@pytest.mark.full
def test_an_authority_that_is_not_trusted(tmp_path: Path, authority: Authority, root: SecuredNode) -> None:
    other = Authority(tmp_path / "other")
    node = child(tmp_path, authority, root.url, trusting(other, "l2-a"))
    with all_running(node):
        check_refusal(node, "its certificate is refused")


@pytest.mark.full
@pytest.mark.parametrize(
    ("hosts", "lasts", "reason"),
    [
        (("127.0.0.1",), -DAY, "certificate has expired"),
        (("other.example",), DAY, "IP address mismatch"),
    ],
)
def test_a_certificate_that_has_expired_or_is_another_hosts(
    tmp_path: Path, authority: Authority, hosts: tuple[str, ...], lasts: Any, reason: str
) -> None:
    certificate: Issued = authority.issue("bad", hosts=hosts, lasts=lasts)
    registry = SecuredRegistry(tmp_path / "registry", authority, certificate)
    node = child(tmp_path, authority, registry.url, trusting(authority, "l2-a"))
    with all_running(registry, node):
        check_refusal(node, reason)


@pytest.mark.full
def test_a_client_certificate_that_has_expired(tmp_path: Path, authority: Authority, root: SecuredNode) -> None:
    expired = authority.issue("l2-a", lasts=-DAY, file_name="expired")
    files = {"certificate_file": str(expired.certificate_file), "key_file": str(expired.key_file)}
    node = child(tmp_path, authority, root.url, {"ca_file": str(authority.file), **files})
    with all_running(node):
        wait_until(lambda: node.pipe["failuresInARow"] > 2, what="it has tried again")
        assert node.end(TOPIC) == -1
        assert "pipe.certificate_file has expired" in str(node.pipe["lastFailure"])


@pytest.mark.full
def test_a_kafka_parent_with_tls_login_and_rules(tmp_path: Path, authority: Authority, root: SecuredNode) -> None:
    properties = root.properties_of("l2-a") | {"sasl.password": "env:PIPE_PASSWORD"}
    pipe = {**PIPE, "type": "kafka", "parent_url": root.bootstrap, "client_properties": properties}

    class Child(SecuredNode):
        password = USERS["l2-a"]

        def environment(self) -> dict[str, str]:
            return super().environment() | {"PIPE_PASSWORD": self.password}

    node = Child(tmp_path / "l2-a", authority, pipe=pipe)
    with all_running(node):
        node.wait_for_end(TOPIC, 1)
        root.rules()
        wait_until(lambda: node.mirror(TOPIC)["state"] == "MISSING", what="the right is gone")
        root.produce(TOPIC, "two")
        assert node.end(TOPIC) == 1
        root.rules(rule("l2-a", "READ", "TOPIC", TOPIC))
        node.wait_for_end(TOPIC, root.end(TOPIC))
        node.stop()
        node.password = "wrong"
        node.start()
        wait_until(lambda: node.pipe["failuresInARow"] > 2, what="it is refused")
        assert "SASL_AUTHENTICATION_FAILED" in str(node.pipe["lastFailure"])
        assert USERS["l2-a"] not in node.log_file.read_text()
