"""`penstock security acl` against a broker with rules, one without, and none at all."""

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.security.acl import as_json
from penstock.cli.security.command import app
from penstock.security.acl.policy import parse_policy
from penstock.security.resources import OPERATIONS, Operation, ResourceType
from tests.cli.conftest import CommandLine
from tests.support.acl_client import CLUSTER, DESCRIBE_TOKENS, READ, USER, AclClient, rule
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-05")

ACL = ("security", "acl")
POLICY = (
    """{"acls": [{"principal": "User:fixed", "operation": "READ", "resource": {"type": "TOPIC", "name": "fixed"}}]}"""
)


@pytest.fixture(scope="module")
def with_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    directory = tmp_path_factory.mktemp("rules")
    (directory / "policy.json").write_text(POLICY)
    config = "acl:\n  enabled: true\n  super_users: User:ANONYMOUS\n  policy_file: policy.json\n"
    process = PenstockProcess(directory, config)
    for _ in running(process):
        yield process


@pytest.fixture
def rules(with_rules: PenstockProcess) -> CommandLine:
    return CommandLine(with_rules.bootstrap)


def listed(rules: CommandLine, *flags: str) -> list[tuple[str, ...]]:
    found = rules(*ACL, "list", *flags, "-o", "json").json
    return [
        (
            row["resource"]["type"],
            row["resource"]["name"],
            row["resource"]["pattern"],
            row["principal"],
            row["host"],
            row["operation"],
            row["permission"],
        )
        for row in found
    ]


def test_rules_are_added_listed_and_removed(rules: CommandLine, name: str) -> None:
    who = ("--allow-principal", "User:ann", "--allow-host", "10.0.0.1", "--allow-host", "10.0.0.2")
    told = rules(*ACL, "add", *who, "--operation", "read", "--operation", "Describe_Configs", "--topic", name)
    assert f"added: ALLOW User:ann from 10.0.0.1 READ TOPIC {name}" in told.err
    assert len(told.err.splitlines()) == 4
    assert told.out == ""
    read, configs = (
        ("TOPIC", name, "LITERAL", "User:ann", "10.0.0.1", op, "ALLOW") for op in ("READ", "DESCRIBE_CONFIGS")
    )
    assert set(listed(rules, "--topic", name)) >= {read, configs}
    table = [line.split() for line in rules(*ACL, "list", "--topic", name).lines]
    assert list(read) in table
    rules(*ACL, "remove", "--topic", name, "--operation", "Read", "--allow-principal", "User:ann")
    assert {row[5] for row in listed(rules, "--topic", name)} == {"DESCRIBE_CONFIGS"}
    removed = rules(*ACL, "remove", "--topic", name, "--force", "-o", "json").json
    assert len(removed["removed"]) == 2
    assert listed(rules, "--topic", name) == []
    assert "no such rules" in rules(*ACL, "list", "--topic", name).err


def test_the_rights_of_a_producer_and_a_consumer(rules: CommandLine, name: str) -> None:
    flags = (
        "--allow-principal",
        "User:app",
        "--topic",
        name,
        "--group",
        f"{name}-g",
        "--transactional-id",
        f"{name}-x",
    )
    rules(*ACL, "add", "--producer", "--consumer", *flags)
    found = {(row[0], row[5]) for row in listed(rules, "--principal", "User:app")}
    assert found == {
        ("TOPIC", "WRITE"),
        ("TOPIC", "CREATE"),
        ("TOPIC", "DESCRIBE"),
        ("TOPIC", "READ"),
        ("GROUP", "READ"),
        ("TRANSACTIONAL_ID", "WRITE"),
        ("TRANSACTIONAL_ID", "DESCRIBE"),
    }
    rules(*ACL, "remove", "--producer", *flags[:4], *flags[6:])
    left = {(row[0], row[5]) for row in listed(rules, "--principal", "User:app")}
    assert left == {("TOPIC", "READ"), ("GROUP", "READ")}
    rules(*ACL, "remove", "--allow-principal", "User:app", "--resource-pattern-type", "any")
    assert listed(rules, "--principal", "User:app") == []


def test_patterns_denials_and_the_cluster(rules: CommandLine, name: str) -> None:
    rules(*ACL, "add", "--deny-principal", "User:*", "--group", name, "--resource-pattern-type", "prefixed")
    rules(*ACL, "add", "--allow-principal", "User:ops", "--cluster", "--operation", "ClusterAction")
    prefixed = ("GROUP", name, "PREFIXED", "User:*", "*", "ALL", "DENY")
    assert listed(rules, "--group", f"{name}-more", "--resource-pattern-type", "match") == [prefixed]
    assert listed(rules, "--group", f"{name}-more") == []
    cluster = ("CLUSTER", "kafka-cluster", "LITERAL", "User:ops", "*", "CLUSTER_ACTION", "ALLOW")
    assert listed(rules, "--cluster") == [cluster]
    missing = rules(*ACL, "remove", "--group", name, code=4)
    assert "no such rules; `penstock security acl list` shows all; --resource-pattern-type any" in missing.err
    rules(*ACL, "remove", "--group", name, "--resource-pattern-type", "prefixed")
    rules(*ACL, "remove", "--cluster")


EVERY_ACT = {kind: (Operation.ALL, *operations) for kind, operations in OPERATIONS.items()}
OPTIONS = {
    ResourceType.TOPIC: ("--topic", "t-every"),
    ResourceType.GROUP: ("--group", "g-every"),
    ResourceType.CLUSTER: ("--cluster",),
    ResourceType.TRANSACTIONAL_ID: ("--transactional-id", "x-every"),
    ResourceType.DELEGATION_TOKEN: ("--delegation-token", "token-every"),
    ResourceType.USER: ("--user-principal", "User:bob"),
}


@pytest.mark.parametrize("kind", EVERY_ACT)
def test_every_operation_of_every_resource_type(rules: CommandLine, kind: ResourceType) -> None:
    """They are added, listed by the same options, removed, and taken by a policy file as they are listed."""
    operations = [flag for each in EVERY_ACT[kind] for flag in ("--operation", each.name.replace("_", ""))]
    who = ("--allow-principal", "User:every")
    rules(*ACL, "add", *who, *operations, *OPTIONS[kind])
    listed_rules = rules(*ACL, "list", "--principal", "User:every", *OPTIONS[kind], "-o", "json").json
    assert {(row["resource"]["type"], row["operation"]) for row in listed_rules} == {
        (kind.name, each.name) for each in EVERY_ACT[kind]
    }
    assert [as_json(rule) for rule in sorted(parse_policy(json.dumps(listed_rules)).rules)] == listed_rules
    rules(*ACL, "remove", *who, *OPTIONS[kind])
    assert listed(rules, "--principal", "User:every") == []


def test_rules_of_kafkas_own_command_have_names(rules: CommandLine, with_rules: PenstockProcess, name: str) -> None:
    """As kafka-acls.sh makes them with --operation DescribeTokens --user-principal User:bob."""
    with RawClient(with_rules.host, with_rules.port) as client:
        AclClient(client).created(rule(USER, "User:bob", principal="User:tokens", operation=DESCRIBE_TOKENS))
    found = ("USER", "User:bob", "LITERAL", "User:tokens", "*", "DESCRIBE_TOKENS", "ALLOW")
    assert found in listed(rules)
    assert list(found) in [line.split() for line in rules(*ACL, "list", "--user-principal", "User:bob").lines]
    rules(*ACL, "remove", "--user-principal", "User:bob")
    assert found not in listed(rules)


def test_a_rule_that_never_applies_is_told_of_and_can_be_removed(
    rules: CommandLine, with_rules: PenstockProcess, name: str
) -> None:
    told = rules(*ACL, "add", "--allow-principal", "Team:ops", "--operation", "Read", "--topic", name)
    assert "warning: Team:ops has another type than User; rules about it apply only if an authenticator" in told.err
    with RawClient(with_rules.host, with_rules.port) as client:  # other clients may store what the command refuses
        AclClient(client).created(rule(CLUSTER, "kafka-cluster", principal="user:k2", operation=READ))
    assert ("CLUSTER", "kafka-cluster", "LITERAL", "user:k2", "*", "READ", "ALLOW") in listed(rules)
    rules(*ACL, "remove", "--allow-principal", "user:k2", "--cluster", "--operation", "Read")
    rules(*ACL, "remove", "--topic", name)
    assert not {row[3] for row in listed(rules)} & {"Team:ops", "user:k2"}


def test_a_rule_of_the_policy_file_is_listed_and_stays(rules: CommandLine) -> None:
    fixed = ("TOPIC", "fixed", "LITERAL", "User:fixed", "*", "READ", "ALLOW")
    assert listed(rules, "--topic", "fixed") == [fixed]
    failed = rules(*ACL, "remove", "--topic", "fixed", code=1)
    assert "still there: ALLOW User:fixed READ TOPIC fixed; change it in the policy file" in failed.err
    assert listed(rules, "--topic", "fixed") == [fixed]


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_person_is_asked_before_rules_go(with_rules: PenstockProcess, name: str, answer: str) -> None:
    rules = CommandLine(with_rules.bootstrap)
    rules(*ACL, "add", "--allow-principal", "User:ann", "--topic", name)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "penstock", *ACL, "remove", "--topic", name, "-b", with_rules.bootstrap]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.write(ours, f"{answer}\n".encode())
    output, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert b"Remove these rules?" in output
    assert name.encode() in output
    assert process.returncode == (0 if answer == "y" else 1)
    assert bool(listed(rules, "--topic", name)) is (answer == "n")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["add", "--topic", "t"], "whose rules?; give --allow-principal or --deny-principal"),
        (["add", "--allow-principal", "User:a"], "rules about what?; give --topic, --group, --cluster"),
        (
            ["add", "--allow-principal", "alice", "--topic", "t"],
            "'alice' is no principal; write it with its type, such as User:alice",
        ),
        (
            ["add", "--allow-principal", "User:", "--topic", "t"],
            "'User:' is no principal; write it with its type, such as",
        ),
        (["add", "--deny-principal", "user:k2", "--topic", "t"], "'user:k2' fits nobody, because types are compared"),
        (
            ["add", "--allow-principal", "User:a", "--cluster", "--operation", "Read"],
            "READ is no operation of the resource type CLUSTER, which has ALL, CREATE, DELETE, ALTER, DESCRIBE,",
        ),
        (
            ["add", "--allow-principal", "User:a", "--topic", "t", "--operation", "ClusterAction"],
            "CLUSTER_ACTION is no operation of the resource type TOPIC",
        ),
        (
            ["add", "--allow-principal", "User:a", "--topic", "t", "--group", "g", "--operation", "Write"],
            "WRITE is no operation of the resource type GROUP, which has ALL, READ, DELETE, DESCRIBE,",
        ),
        (["add", "--allow-principal", "User:a", "--topic", "t", "--operation", "Raed"], "'Raed' is none of ALL, READ,"),
        (["list", "--topic", "t", "--resource-pattern-type", "unknown"], "'unknown' is none of LITERAL, PREFIXED"),
        (
            ["add", "--allow-principal", "User:a", "--user-principal", "User:b", "--operation", "Read"],
            "READ is no operation of the resource type USER, which has ALL, CREATE_TOKENS, DESCRIBE_TOKENS",
        ),
        (["add", "--allow-principal", "User:a", "--topic", ""], "Invalid empty resource name"),
        (
            ["add", "--allow-principal", "User:a", "--topic", "t", "--resource-pattern-type", "match"],
            "Invalid patternType MATCH",
        ),
        (["add", "--allow-principal", "User:a", "--producer"], "--producer and --consumer need --topic"),
        (["add", "--allow-principal", "User:a", "--consumer", "--topic", "t"], "--consumer needs --group"),
        (
            ["add", "--allow-principal", "User:a", "--producer", "--topic", "t", "--operation", "Read"],
            "--operation cannot be combined with --producer",
        ),
        (["add", "--deny-host", "10.0.0.1", "--topic", "t"], "--deny-host without --deny-principal"),
        (
            ["add", "--deny-principal", "User:a", "--deny-host", "10.0.0.0/8", "--topic", "t"],
            "'10.0.0.0/8' is no address of a client: give one, or * for all",
        ),
        (["remove"], "remove which rules?"),
        (["list", "--resource-pattern-type", "glob"], "'glob' is none of LITERAL, PREFIXED"),
    ],
)
def test_wrong_flags_are_named_before_anything_is_asked(alone: CommandLine, flags: list[str], told: str) -> None:
    assert told in alone(*ACL, *flags, "-b", "127.0.0.1:1", code=2).err


def test_a_broker_without_rules_and_no_broker(penstock: CommandLine, alone: CommandLine, tmp_path: Path) -> None:
    failed = penstock(*ACL, "list", code=1)
    assert "this broker has no authorizer, so that it has no rules; start it with acl.enabled: true" in failed.err
    assert "no broker at" in alone(*ACL, "list", "-b", "127.0.0.1:1", code=3).err


def test_the_recipes_of_the_page(with_rules: PenstockProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of docs/security.md that calls the command `acl`, as it stands there."""
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP_SERVER", with_rules.bootstrap)
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    recipes = [shlex.split(line)[1:] for line in page.splitlines() if line.startswith("acl ")]
    assert len(recipes) > 10
    for recipe in recipes:
        outcome = CliRunner().invoke(app, ["acl", *recipe])
        assert outcome.exit_code == 0, (recipe, outcome.output, outcome.exception)
    rules = CommandLine(with_rules.bootstrap)
    assert ("TOPIC", "orders", "LITERAL", "User:billing", "*", "READ", "ALLOW") in listed(rules)
    assert not [row for row in listed(rules, "--principal", "User:shop") if row[0] == "TOPIC"]
    everyone = ("--allow-principal", "--resource-pattern-type", "any")
    for principal in {row[3] for row in listed(rules)} - {"User:fixed"}:
        rules(*ACL, "remove", everyone[0], principal, "--deny-principal", principal, *everyone[1:])
