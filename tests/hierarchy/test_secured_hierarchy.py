"""A hierarchy in which every line has TLS, a login and rules: data flows where there is a right, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Authority
from tests.support.command_line import CommandLine
from tests.support.registry_process import all_running
from tests.support.secured_hierarchy import (
    POLL_INTERVAL_MS,
    USERS,
    SecuredEdge,
    SecuredNode,
    SecuredRegistry,
    on_cluster,
    rule,
    trusting,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-11", "F-05")

TOPIC = "prices"
MISSING = "the parent has no such topic, or does not let this node read it"


@dataclass(frozen=True)
class Family:
    authority: Authority
    registry: SecuredRegistry
    root: SecuredNode
    middle: SecuredNode
    leaf: SecuredNode
    edge: SecuredEdge
    token: str


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Family]:
    """At the registry the root logs in with a password, the middle with a certificate, and the leaf with a token."""
    directory = tmp_path_factory.mktemp("secured")
    authority = Authority(directory / "tls")
    registry = SecuredRegistry(directory / "registry", authority)
    registry.prepare()
    token = CommandLine(None)(
        "security", "token", "create", "leaf", "--principal", "User:local-1", "--users-file", registry.users_file
    ).out.strip()
    token_file = directory / "token"
    token_file.touch(0o600)
    token_file.write_text(f"{token}\n")
    certificate = authority.issue("l2-a")
    polling = {"url": registry.url, "poll_interval_ms": POLL_INTERVAL_MS, "ca_file": str(authority.file)}
    pipe = {"poll_interval_ms": 50, "wait_ms": 2000, "topics": TOPIC}
    root = SecuredNode(
        directory / "root-1",
        authority,
        rule("l2-a", "READ", "TOPIC", TOPIC),
        registry={**polling, **trusting(authority, "root-1")},
    )
    middle = SecuredNode(
        directory / "l2-a",
        authority,
        rule("local-1", "READ", "TOPIC", TOPIC),
        registry={
            **polling,
            "certificate_file": str(certificate.certificate_file),
            "key_file": str(certificate.key_file),
        },
        pipe={**pipe, **trusting(authority, "l2-a")},
    )
    leaf = SecuredNode(
        directory / "local-1",
        authority,
        rule("till", "READ", "TOPIC", TOPIC),
        rule("till", "READ", "GROUP", "till"),
        registry={**polling, "token": f"file:{token_file}"},
        pipe={**pipe, **trusting(authority, "local-1")},
    )
    edge = SecuredEdge(directory / "edge", authority, leaf, TOPIC, "till")
    with all_running(registry, root, middle, leaf):
        assert root.ask("/api/v1/topics", method="POST", document={"name": TOPIC, "partitions": 1}).status == 201
        root.produce(TOPIC, "first")
        leaf.wait_for_end(TOPIC, 1)
        with all_running(edge):
            yield Family(authority, registry, root, middle, leaf, edge, token)


def wait_for_messages(edge: SecuredEdge, count: int) -> None:
    wait_until(lambda: len(edge.ask("/messages", "till").json["messages"]) == count, what=f"{count} messages")


def test_data_flows_from_the_root_to_the_edge(family: Family) -> None:
    before = family.root.end(TOPIC)
    family.root.produce(TOPIC, "new price")
    family.leaf.wait_for_end(TOPIC, before + 1)
    wait_for_messages(family.edge, before + 1)
    for node, parent, principal in (
        ("root-1", None, "User:root-1"),
        ("l2-a", "root-1", "User:l2-a"),
        ("local-1", "l2-a", "User:local-1"),
    ):
        found = family.registry.node(node)
        assert (found["parentId"], found["principal"]) == (parent, principal)
    assert family.middle.pipe["parentUrl"] == family.root.url
    assert family.root.url.startswith("https://")
    assert family.leaf.pipe["health"] == "HEALTHY"


def test_a_right_that_is_taken_away_stops_the_pull_and_given_back_it_goes_on(family: Family) -> None:
    before = family.root.end(TOPIC)
    family.root.rules()
    wait_until(lambda: family.middle.mirror(TOPIC).get("state") == "MISSING", what="the mirror is told to be missing")
    assert family.middle.mirror(TOPIC)["reason"] == MISSING
    family.root.produce(TOPIC, "secret")
    lines = family.middle.log_lines(MISSING)
    assert len(lines) == 1
    assert f"mirror {TOPIC}" in lines[0]
    assert family.middle.end(TOPIC) == before
    family.root.rules(rule("l2-a", "READ", "TOPIC", TOPIC))
    family.leaf.wait_for_end(TOPIC, before + 1)
    assert family.middle.mirror(TOPIC)["state"] == "FOLLOWING"
    assert len(family.middle.log_lines("the parent serves it again")) == 1


def test_a_token_that_is_revoked_keeps_the_node_out_of_the_registry(family: Family) -> None:
    """The data flows on: a node keeps its last topology."""
    kept = family.registry.users_file.read_bytes()
    commands = CommandLine(None)
    (token,) = commands("security", "token", "list", "--users-file", family.registry.users_file, "-o", "json").json
    assert "token" not in token
    commands("security", "token", "revoke", token["id"], "--users-file", family.registry.users_file)
    family.registry.reload()

    def warning() -> Any:
        return family.leaf.ask("/health/ready").json["warnings"].get("registry", "")

    wait_until(lambda: "the token is unknown" in warning(), what="the node says that it is refused")
    assert len(family.leaf.log_lines("the token is unknown")) == 1
    assert family.token not in family.leaf.log_file.read_text()
    before = family.root.end(TOPIC)
    family.root.produce(TOPIC, "meanwhile")
    family.leaf.wait_for_end(TOPIC, before + 1)
    family.registry.users_file.write_bytes(kept)
    family.registry.reload()
    wait_until(lambda: not warning(), what="the node is registered again")


@pytest.mark.parametrize("user", ["stranger", "till"])
def test_a_login_without_the_right_changes_nothing_at_the_registry(family: Family, user: str) -> None:
    """till may register nodes, but not take over those of others."""
    registry = family.registry
    nodes = registry.ask("/registry/nodes").json
    instance = {"instanceId": "another", "url": "https://evil.example:8080"}
    refused = [
        ("POST", "/registry/nodes", {"nodeId": "root-1", "role": "ROOT", **instance}),
        ("POST", "/registry/nodes", {"nodeId": "l2-a", **instance}),
        ("GET", "/registry/nodes/l2-a/topology?instanceId=another", None),
        ("PUT", "/registry/nodes/l2-a/parent", {"parentId": None}),
        ("PUT", "/registry/nodes/local-1/parent", {"parentId": "root-1"}),
        ("DELETE", "/registry/nodes/root-1", None),
        ("GET", "/registry/nodes", None),
        ("GET", "/metrics", None),
    ]
    for method, path, document in refused:
        answer = registry.ask(path, user, method, document)
        assert answer.status == 403, (method, path, answer.body)
        assert answer.is_problem
    made = registry.ask("/registry/nodes", user, "POST", {"nodeId": f"new-{user}", **instance})
    assert made.status == (200 if user == "till" else 403)
    registry.ask(f"/registry/nodes/new-{user}", "admin", "DELETE")

    def facts(found: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [(each["nodeId"], each["url"], each["parentId"], each["principal"]) for each in found["nodes"]]

    assert facts(registry.ask("/registry/nodes").json) == facts(nodes)


def test_an_administrator_may_take_over_an_id(family: Family) -> None:
    registry = family.registry
    body = {"nodeId": "moved", "instanceId": "x"}
    assert registry.ask("/registry/nodes", "till", "POST", body).status == 200
    assert registry.ask("/registry/nodes", "l2-a", "POST", body).json["type"] == "not-owner"
    assert registry.ask("/registry/nodes", "admin", "POST", body).status == 200
    assert registry.node("moved")["principal"] == "User:admin"
    assert registry.ask("/registry/nodes/moved/topology?instanceId=x", "till").status == 403
    assert registry.ask("/registry/nodes/moved", "admin", "DELETE").status == 204


def test_a_login_without_the_right_reads_and_resets_nothing_elsewhere(family: Family) -> None:
    leaf, edge = family.leaf, family.edge
    assert leaf.ask("/pipe/reset", "stranger", "POST").status == 403
    assert leaf.ask("/pipe/status", "stranger").status == 403
    assert leaf.ask("/pipe/topics", "stranger").json["topics"] == []
    for path, user in (("/messages", "stranger"), ("/messages/latest", "stranger"), ("/stats", "till"),
                       ("/segments", "till"), ("/metrics", "till")):  # fmt: skip
        assert edge.ask(path, user).status == 403, path
    assert edge.ask("/refresh", "till", "POST").status == 403
    assert edge.ask("/refresh", "stranger", "POST").status == 403


def test_strangers_without_a_login_learn_that_a_port_is_there(family: Family) -> None:
    for process in (family.registry, family.edge):
        assert process.ask("/health/live", None).status == 200
        assert process.ask("/health/ready", None).json == {"status": "ready"}
        for path in ("/health/ready", "/health"):
            assert process.ask(path, "stranger").json == {"status": "ready"}
            assert len(process.ask(path).json) > 1, "the details are for those who may describe the cluster"
        for path in ("/health", "/metrics", "/registry/nodes", "/messages"):
            assert process.ask(path, None).status == 401
        assert process.ask("/health/ready", "admin", password="wrong").status == 401
    metrics = family.registry.ask("/metrics").body.decode()
    assert 'penstock_certificate_days_left{listener="HTTP"}' in metrics
    assert "penstock_login_failures_total" in metrics
    assert 'penstock_certificate_days_left{listener="HTTP"}' in family.edge.ask("/metrics").body.decode()


def test_rules_of_the_edge_change_while_it_runs(family: Family) -> None:
    family.edge.rules(rule("stranger", "READ", "TOPIC", TOPIC), on_cluster("till", "DESCRIBE"))
    wait_until(lambda: family.edge.ask("/messages", "stranger").status == 200, what="the new rule holds")
    assert family.edge.ask("/messages", "till").status == 403
    assert family.edge.ask("/stats", "till").status == 200
    family.edge.rules(rule("till", "READ", "TOPIC", TOPIC))
    wait_until(lambda: family.edge.ask("/messages", "stranger").status == 403, what="the old rule holds")


def test_a_users_file_that_is_cut_in_half_changes_nothing(family: Family) -> None:
    path = family.registry.users_file
    kept = path.read_bytes()
    path.write_bytes(kept[: len(kept) // 2])
    family.registry.reload()
    wait_until(lambda: family.registry.ask("/health").json["warnings"], what="the health report says so")
    (warning,) = family.registry.ask("/health").json["warnings"]
    assert "users.json: not JSON" in warning
    path.write_bytes(kept)
    family.registry.reload()
    wait_until(lambda: not family.registry.ask("/health").json["warnings"], what="the warning is gone")


def test_commands_log_in_with_their_properties(family: Family, tmp_path: Path) -> None:
    def properties(user: str) -> Path:
        path = tmp_path / f"{user}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in family.leaf.properties_of(user).items()))
        return path

    commands, admin, stranger = CommandLine(None), properties("admin"), properties("stranger")
    listed = commands("registry", "list", "--registry", family.registry.url, "--command-config", admin, "-o", "json")
    assert [each["nodeId"] for each in listed.json] == ["root-1", "l2-a", "local-1"]
    status = commands("pipe", "status", "--url", family.leaf.url, "--command-config", admin, "-o", "json")
    assert json.loads(status.out)["parentUrl"] == family.middle.url
    refused = commands("pipe", "reset", "--url", family.leaf.url, "--command-config", stranger, code=1)
    allowed_by = "this principal may not do that to the cluster; an administrator allows it with"
    assert f"{allowed_by} `penstock security acl add`" in refused.err
    told = commands("registry", "list", "--registry", family.registry.url, "--command-config", stranger, code=1).err
    assert f"{allowed_by} a rule in the policy file (acl.policy_file)" in told
    without = commands("registry", "list", "--registry", family.registry.url, code=1)
    assert "is not trusted" in without.err
    assert "ssl.ca.location" in without.err
    assert USERS["admin"] not in listed.out + status.out + refused.err + without.err
