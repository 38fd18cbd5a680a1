"""Commands with `--command-config`: everything that an administrator does, and bulk jobs without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.own_clients.conftest import Commands
from tests.support.command_line import Outcome
from tests.support.raw_client import unique_name
from tests.support.secured_broker import ADMIN, OPEN, USER, SecuredBroker
from tests.support.variants import variants

pytestmark = pytest.mark.feature("F-04")

Run = Callable[..., Outcome]
CASES = [("LOGIN", "PLAIN"), ("LOGIN", "SCRAM-SHA-256"), ("BOTH", "PLAIN"), ("BOTH", "SCRAM-SHA-512")]


@pytest.fixture
def run(broker: SecuredBroker, penstock: Commands, listener: str, mechanism: str) -> Run:
    """A command of the administrator."""
    names = broker.java_properties if mechanism == "PLAIN" else broker.properties
    properties = names(listener, mechanism, ADMIN)
    return lambda *args, **more: penstock(properties, listener, *args, **more)


@pytest.mark.full
@pytest.mark.parametrize(("listener", "mechanism"), CASES[1:3])
def test_an_administrators_day(run: Run) -> None:
    topic, group, user = unique_name(OPEN), unique_name(OPEN), unique_name("user")
    run("topic", "create", topic, "--partitions", 2)
    assert topic in run("topic", "list").out
    run("topic", "alter", topic, "--config", "retention.ms=1000000")
    assert "1000000" in run("topic", "describe", topic).out

    run("produce", topic, stdin="one\ntwo\n")
    told = run("consume", topic, "--count", 2, "--from", "earliest", "--group", group)
    assert sorted(told.lines) == ["one", "two"]
    assert group in run("group", "list").out
    run("group", "describe", group)
    run("group", "reset-offsets", group, "--topic", topic, "--to-earliest", "--execute")
    assert len(run("consume", topic, "--count", 2, "--group", group).lines) == 2
    run("group", "delete", group)

    assert isinstance(run("transaction", "list", "-o", "json").json, list)
    run("quota", "set", "--user", user, "producer_byte_rate=1000000")
    assert user in run("quota", "list").out

    run("security", "user", "add", user, stdin="a-long-secret\n")
    assert user in run("security", "user", "list").out
    run("security", "acl", "add", "--allow-principal", f"User:{user}", "--operation", "Read", "--topic", topic)
    assert f"User:{user}" in run("security", "acl", "list", "--topic", topic).out
    run("security", "acl", "remove", "--allow-principal", f"User:{user}", "--topic", topic, "--force")
    assert f"User:{user}" not in run("security", "acl", "list", "--topic", topic).out
    acts = (("--transactional-id", topic, "TwoPhaseCommit"), ("--user-principal", f"User:{user}", "DescribeTokens"))
    for option, name, operation in acts:  # which librdkafka does not know
        run("security", "acl", "add", "--allow-principal", f"User:{user}", "--operation", operation, option, name)
        (found,) = run("security", "acl", "list", option, name, "-o", "json").json
        assert found["operation"].replace("_", "") == operation.upper()
        run("security", "acl", "remove", option, name, "--force")
    run("security", "user", "remove", user, "--yes")
    run("topic", "delete", topic, "--yes")


@variants("listener,mechanism", CASES, quick=[("BOTH", "SCRAM-SHA-512")])
def test_bulk_jobs(run: Run, tmp_path: Path) -> None:
    """A file becomes a topic, the topic an archive, the archive another topic."""
    source, first, second = tmp_path / "rows.jsonl", unique_name(OPEN), unique_name(OPEN)
    rows = [{"number": number} for number in range(200)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = run("load", source, "--topic", first, "-o", "json")
    assert loaded.json["rows"] == len(rows)
    assert run("archive", first, tmp_path / "archive", "-o", "json").json["rows"] == len(rows)
    assert run("replay", tmp_path / "archive", "--topic", second, "-o", "json").json["rows"] == len(rows)
    told = run("consume", second, "--count", len(rows), "--from", "earliest")
    assert sorted(json.loads(line)["number"] for line in told.lines) == list(range(len(rows)))


@pytest.mark.full
@pytest.mark.parametrize(("listener", "mechanism"), CASES[3:])
def test_a_user_without_the_rights(
    broker: SecuredBroker, penstock: Commands, listener: str, mechanism: str, tmp_path: Path
) -> None:
    properties, closed = broker.properties(listener, mechanism, USER), broker.new_topic(is_open=False)
    source = tmp_path / "rows.jsonl"
    source.write_text('{"number": 1}\n')
    commands: list[tuple[object, ...]] = [
        ("topic", "describe", closed),
        ("produce", closed),
        ("load", source, "--topic", closed),
    ]
    if broker.kind == "penstock":  # what no rule is about is open at the other one, as the cluster is
        commands += [("topic", "create", "mine"), ("security", "acl", "list")]
    words = ("authoriz", "AUTHORIZ", "this principal may not")
    for command in commands:
        failed = penstock(properties, listener, *command, code=1)
        assert any(word in failed.err for word in words), failed.err
