"""Nodes and registries that nobody could administer: the start tells of it, and of the way out."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.security.offline_users import store_user
from penstock.config.settings import Settings
from penstock.node.security.administrators import warn_without_users
from penstock.node.security.door_plans import plan_doors
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.principal import Principal
from penstock.security.resources import CLUSTER_NAME, Operation, ResourceType
from penstock.security.tokens.table import TokenTable
from penstock.security.tokens.token import Token
from penstock.security.users.credential import ScramMechanism
from penstock.security.users.table import UserTable
from tests.support.acl_client import ALTER, CLUSTER, AclClient, rule
from tests.support.broker_process import BrokerProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.registry_process import RegistryProcess

pytestmark = pytest.mark.feature("F-05")

NO_RIGHTS = "nobody may alter the cluster or its rules"
NO_USERS = "nobody can log in: every door asks for a login"
SASL = "SASL_PLAINTEXT"
TLS = {"certificate_file": "server.pem", "client_ca_file": "ca.pem"}
ADMINISTRATOR = AclRule(
    ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, "User:a", "*", Operation.ALTER, Permission.ALLOW
)
MUTUAL = {**TLS, "client_auth": "requested"}


@contextmanager
def started(process: BrokerProcess) -> Iterator[None]:
    process.prepare()
    process.start()
    try:
        yield
    finally:
        process.stop()


def warnings_of(process: BrokerProcess) -> list[str]:
    """Those of a start."""
    process.log_file.unlink(missing_ok=True)
    with started(process):
        pass
    return [line for line in process.log_file.read_text().splitlines() if " WARNING " in line and "nobody" in line]


def test_a_node_with_rules_and_without_an_administrator(tmp_path: Path) -> None:
    """Until a rule is stored that makes one."""
    closed = PenstockProcess(tmp_path, "acl: {enabled: true}\n")
    (told,) = warnings_of(closed)
    assert NO_RIGHTS in told
    assert "acl.super_users" in told
    assert "acl.policy_file" in told
    named = PenstockProcess(tmp_path, "acl: {enabled: true, super_users: 'User:ANONYMOUS'}\n")
    assert warnings_of(named) == []
    with started(named), RawClient(named.host, named.port) as client:
        AclClient(client).created(rule(CLUSTER, CLUSTER_NAME, principal="User:alice", operation=ALTER))
    assert warnings_of(closed) == []


def test_a_node_with_logins_and_without_users(tmp_path: Path) -> None:
    node = PenstockProcess(tmp_path, f"security: {{protocol: {SASL}}}\n")
    (told,) = warnings_of(node)
    assert NO_USERS in told
    assert f"penstock security user add NAME --data-dir {node.data_directory}" in told
    store_user(node.data_directory, "alice", "alice-secret", {ScramMechanism.SCRAM_SHA_256: 4096})
    assert warnings_of(node) == []


def test_a_registry_with_rules_and_without_an_administrator(tmp_path: Path) -> None:
    (told,) = warnings_of(RegistryProcess(tmp_path, "--set", "acl.enabled=true"))
    assert NO_RIGHTS in told
    assert warnings_of(RegistryProcess(tmp_path)) == []


@pytest.mark.parametrize(
    ("sections", "is_told"),
    [
        ({"security": {"protocol": SASL}}, True),
        ({"security": {"protocol": SASL}, "push": {"enabled": False}, "http": {"enabled": False}}, True),
        ({"security": {"protocol": "SASL_SSL"}, "tls": TLS}, True),
        ({"security": {"protocol": "SASL_SSL"}, "tls": MUTUAL}, False),
        ({"security": {"protocol": "SASL_SSL"}, "tls": MUTUAL, "http": {"enabled": False}}, True),
        ({"security": {"protocol": SASL, "authenticator": "another"}}, False),
        ({"security": {"protocol": SASL}, "listeners": {"protocols": "PUSH:PLAINTEXT"}}, False),
        ({}, False),
    ],
)
def test_when_nobody_could_log_in(
    sections: dict[str, dict[str, Any]], is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings.model_validate(sections)
    plans, users, tokens = plan_doors(settings), UserTable(b"secret"), TokenTable()
    with caplog.at_level(logging.WARNING):
        warn_without_users(settings, plans, users, tokens)
    assert (NO_USERS in caplog.text) is is_told
    caplog.clear()
    alice = Principal("User", "alice")
    tokens.put(Token(token_id="1", principal=alice, name="", created_ms=0, expires_ms=1, digest=b""))
    warn_without_users(settings, plans, users, tokens)
    assert caplog.text == ""


def test_a_node_in_memory_has_another_way_out(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings.model_validate({"security": {"protocol": SASL}, "storage": {"engine": "memory"}})
    warn_without_users(settings, plan_doors(settings), UserTable(b"secret"), TokenTable())
    assert "--data-dir" not in caplog.text
    assert "add a listener without a login on 127.0.0.1" in caplog.text


@pytest.mark.parametrize(
    ("changes", "has_administrators"),
    [
        ({}, True),
        ({"operation": Operation.ALL}, True),
        ({"name": "*"}, True),
        ({"operation": Operation.CREATE}, False),
        ({"permission": Permission.DENY}, False),
        ({"kind": ResourceType.TOPIC}, False),
    ],
)
def test_whom_a_rule_makes_an_administrator(changes: dict[str, Any], has_administrators: bool) -> None:
    authorizer = StandardAuthorizer()
    authorizer.add([ADMINISTRATOR._replace(**changes)])
    assert authorizer.has_administrators is has_administrators


def test_super_users_are_administrators() -> None:
    assert not StandardAuthorizer().has_administrators
    assert StandardAuthorizer(["User:admin"]).has_administrators


def test_everyone_is_an_administrator_where_no_rule_is_about_the_cluster() -> None:
    assert StandardAuthorizer(allow_everyone_if_no_acl_found=True).has_administrators
    authorizer = StandardAuthorizer(allow_everyone_if_no_acl_found=True)
    authorizer.add([ADMINISTRATOR._replace(permission=Permission.DENY)])
    assert not authorizer.has_administrators
