"""The policy file of a running node: read at the start, followed while it runs, never half; and the audit log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from tests.support.acl_client import AclClient, rule
from tests.support.batches import Record, batch
from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-05")

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
BATCH = batch([Record(value=b"v")])
ME = "User:ANONYMOUS"
SETTINGS = "acl:\n  enabled: true\n  policy_file: policy.json\n"


def entry(operation: str, name: str, kind: str = "TOPIC", permission: str = "ALLOW") -> dict[str, Any]:
    resource = {"type": kind, "name": name}
    return {"principal": ME, "operation": operation, "permission": permission, "resource": resource}


OPEN = [entry("ALL", "*"), entry("ALL", "*", "GROUP"), entry("ALL", "kafka-cluster", "CLUSTER")]


class PolicyNode:
    """A node whose only principal has the rights of the policy file."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "policy.json"
        self.write(OPEN)
        self.process = PenstockProcess(directory, SETTINGS)

    def write(self, acls: list[dict[str, Any]], **more: object) -> None:
        """In the place of the old file, as editors and configuration management do it."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({"acls": acls, **more}))
        fresh.chmod(0o644)
        fresh.replace(self.path)

    def metric(self, name: str) -> float:
        url = f"http://{self.process.host}:{self.process.http_port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            page = answer.read().decode()
        return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith(f"{name} "))

    def warned(self) -> bool:
        url = f"http://{self.process.host}:{self.process.http_port}/health/ready"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return "policy" in json.load(answer)["warnings"]

    def log_count(self, text: str, level: str = "ERROR") -> int:
        """Lines of a level with a text."""
        return sum(f" {level} " in line and text in line for line in self.process.log_file.read_text().splitlines())

    def audit(self) -> list[dict[str, Any]]:
        lines = self.process.log_file.read_text().splitlines()
        return [json.loads(line) for line in lines if '"penstock.audit"' in line]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[PolicyNode]:
    node = PolicyNode(tmp_path)
    for _ in running(node.process):
        yield node


@pytest.fixture
def client(node: PolicyNode) -> Iterator[RawClient]:
    with RawClient(node.process.host, node.process.port) as client:
        yield client


def code_of_produce(client: RawClient, topic: str) -> int:
    return int(client.produce(topic, BATCH).error_code)


def test_a_changed_file_takes_effect(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    assert code_of_produce(client, topic) == 0
    node.write([*OPEN, entry("WRITE", topic, permission="DENY")])
    wait_until(lambda: code_of_produce(client, topic) == DENIED, what="the denial holds")
    node.path.write_text(json.dumps({"acls": OPEN}))
    wait_until(lambda: code_of_produce(client, topic) == 0, what="the denial is gone")
    node.write([], super_users=[ME])
    wait_until(lambda: node.metric("penstock_acl_rules") == 0, what="the rules are gone")
    assert code_of_produce(client, topic) == 0
    changes = [line for line in node.audit() if line["message"] == "changed"]
    assert [line["act"] for line in changes] == ["create acl", "delete acl", "create super user", *["delete acl"] * 3]
    assert topic in changes[0]["what"]
    assert changes[2]["what"] == ME
    assert {line["host"] for line in changes} == {"policy.json"}


def test_rules_of_the_file_and_stored_ones_hold_together(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    acls = AclClient(client)
    acls.created(rule(name=topic, principal=ME, operation=4, permission=2))
    assert code_of_produce(client, topic) == DENIED
    assert len(acls.described()) == len(OPEN) + 1
    node.process.stop()
    node.process.start()
    with RawClient(node.process.host, node.process.port) as again:
        assert code_of_produce(again, topic) == DENIED


def test_a_file_that_cannot_be_used_keeps_the_old_rules(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    bad = ('{"acls": [{"principal": "User:A', '{"acls": [{}]}', "")
    for count, text in enumerate(bad, 1):
        node.path.write_text(text)
        os.kill(node.process.pid, signal.SIGHUP)
        wait_until(lambda: node.metric("penstock_policy_file_failures_total") >= count, what="the failure is counted")  # noqa: B023
        assert code_of_produce(client, topic) == 0
        assert node.metric("penstock_acl_rules") == len(OPEN)
    told = "the policy file has changed and cannot be used, the old rules go on"
    wait_until(lambda: node.log_count(told) == node.metric("penstock_policy_file_failures_total"), what="a line each")
    node.write([*OPEN, entry("WRITE", topic, permission="DENY")])
    os.kill(node.process.pid, signal.SIGHUP)
    wait_until(lambda: code_of_produce(client, topic) == DENIED, what="the corrected file holds")


def test_rules_that_never_apply_are_refused_or_told_of(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    denial = entry("WRITE", topic, permission="DENY")
    node.write([*OPEN, {**denial, "principal": ME.lower()}])
    wait_until(lambda: node.log_count(f"acls[{len(OPEN)}].principal: '{ME.lower()}' fits nobody") == 1, what="refused")
    node.write([*OPEN, denial, {**denial, "principal": "Team:ops"}])
    wait_until(lambda: code_of_produce(client, topic) == DENIED, what="the denial holds")
    told = "policy.json: Team:ops has another type than User; rules about it apply only if an authenticator"
    wait_until(lambda: node.log_count(told, level="WARNING") == 1, what="the other type is told of")


def test_a_file_that_others_can_write_gives_no_rights(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    open_to_others = node.path.with_suffix(".new")
    for count, mode in enumerate((0o666, 0o620), 1):
        open_to_others.write_text(json.dumps({"super_users": ["User:mallory", ME]}))
        open_to_others.chmod(mode)
        open_to_others.replace(node.path)
        os.kill(node.process.pid, signal.SIGHUP)
        wait_until(lambda: node.metric("penstock_policy_file_failures_total") >= count, what="the failure is counted")  # noqa: B023
        assert node.metric("penstock_acl_rules") == len(OPEN)
        assert code_of_produce(client, topic) == 0
        assert node.log_count(f"can write it (its mode is {mode:04o}); run: chmod go-w {node.path}") == 1
    node.process.stop()
    command = node.process.command()
    ended = subprocess.run(command, cwd=node.path.parent, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "penstock: acl.policy_file policy.json: other users of this machine can write it" in ended.stderr
    node.path.chmod(0o644)
    node.process.start()
    assert node.metric("penstock_acl_rules") == 0, "the file that only its user can write is read"


def test_the_directory_of_a_file_is_mended_as_its_message_says(node: PolicyNode, client: RawClient) -> None:
    """The file itself does not change then. Its failure is counted and told once."""
    directory = node.path.absolute().parent
    directory.chmod(0o775)
    node.write([OPEN[0], OPEN[2]])
    remedy = f"run: chmod go-w {directory}"
    wait_until(lambda: node.log_count(remedy) == 1, what="the failure is in the log")
    os.kill(node.process.pid, signal.SIGHUP)
    assert node.metric("penstock_acl_rules") == len(OPEN)
    directory.chmod(0o755)
    wait_until(lambda: node.metric("penstock_acl_rules") == 2, what="the file is read")
    assert node.metric("penstock_policy_file_failures_total") == 1
    assert node.log_count(remedy) == 1


def test_a_signal_finds_a_file_that_others_could_replace(node: PolicyNode, client: RawClient) -> None:
    directory = node.path.absolute().parent
    directory.chmod(0o775)
    os.kill(node.process.pid, signal.SIGHUP)
    wait_until(lambda: node.metric("penstock_policy_file_failures_total") == 1, what="the file is read again")
    directory.chmod(0o755)
    os.kill(node.process.pid, signal.SIGHUP)
    wait_until(lambda: not node.warned(), what="it is right again")


def test_a_file_that_is_removed_keeps_the_old_rules(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    node.path.unlink()
    wait_until(lambda: node.metric("penstock_policy_file_failures_total") == 1, what="the failure is counted")
    assert code_of_produce(client, topic) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file or directory"),
        ('{"acls": [{"prin', "no JSON"),
        ('{"acls": [{}]}', "acls[0].resource must be"),
    ],
)
def test_a_node_does_not_start_without_the_rules_it_was_given(tmp_path: Path, text: str | None, told: str) -> None:
    process = PenstockProcess(tmp_path, SETTINGS)
    process.prepare()
    if text is not None:
        (tmp_path / "policy.json").write_text(text)
    ended = subprocess.run(process.command(), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert f"penstock: acl.policy_file policy.json: {told}" in ended.stderr
    assert "; correct the file, or take the setting out" in ended.stderr


class WorldNode(PolicyNode):
    """A node with a door to the world, which has TLS and takes clients without a certificate."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        server, process = Authority(directory / "tls").issue("server"), self.process
        self.door = f"0.0.0.0:{free_port()}"
        process._config = (
            f"{SETTINGS}tls: {{certificate_file: {server.certificate_file}, key_file: {server.key_file}}}\n"
            f"listeners: {{addresses: 'HERE://{process.host}:{process.port},WORLD://{self.door}',"
            " protocols: 'HERE:PLAINTEXT,WORLD:SSL'}\n"
        )


@pytest.mark.parametrize("who", [ME, "User:*"])
def test_a_door_to_the_world_allows_no_super_user_without_a_login(tmp_path: Path, who: str) -> None:
    node = WorldNode(tmp_path)
    node.process.prepare()
    node.write(OPEN, super_users=[who])
    command = node.process.command()
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    told = f"{who} is a super user, and the door WORLD at {node.door} takes clients without a login"
    assert f"penstock: acl.policy_file policy.json: {told}" in ended.stderr


def test_nor_one_that_comes_with_a_change(tmp_path: Path) -> None:
    node = WorldNode(tmp_path)
    kept = OPEN[1:]  # all but topics
    node.write(kept, super_users=["User:admin"])
    with contextmanager(running)(node.process), RawClient(node.process.host, node.process.port) as client:
        node.write(OPEN, super_users=[ME])
        wait_until(lambda: node.metric("penstock_policy_file_failures_total") == 1, what="the file is refused")
        assert node.log_count("cannot be used, the old rules go on: policy.json: User:ANONYMOUS is a super user") == 1
        assert client.produce("orders", BATCH).error_code == DENIED
        node.write(OPEN, super_users=["User:admin"])
        wait_until(lambda: node.metric("penstock_acl_rules") == len(OPEN), what="the next file is in force")


def test_denials_and_changes_are_in_the_audit_log(node: PolicyNode, client: RawClient) -> None:
    topic = client.create_topic()
    AclClient(client).created(rule(name=topic, principal=ME, operation=4, permission=2))
    assert code_of_produce(client, topic) == DENIED
    client.call("metadata", 12, topics=None)
    changed, denied = node.audit()
    common = {"principal": ME, "host": "127.0.0.1", "listener": "PLAINTEXT", "client_id": "wire"}
    assert changed.items() >= {**common, "message": "changed", "act": "create acl"}.items()
    assert changed["what"] == f"DENY {ME} WRITE TOPIC {topic}"
    asked = {"operation": "WRITE", "resource_type": "TOPIC", "resource": topic}
    assert denied.items() >= {**common, **asked, "message": "denied"}.items()
    assert node.metric("penstock_authorizations_denied_total") == 1
