"""Commands of a user who lacks a right: one line that says what was refused and which rule allows it, exit code 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import Producer
from penstock.cli.terminal.errors import ExitCode
from penstock.sdk import NotAllowed
from tests.own_clients.conftest import Commands
from tests.support.acl_client import ALL, CLUSTER, DENY, GROUP, PREFIXED, READ, TOPIC, AclClient, rule
from tests.support.command_line import CommandLine, Outcome
from tests.support.raw_client import unique_name
from tests.support.secured_broker import OPEN, SecuredBroker

pytestmark = pytest.mark.feature("F-04", "F-05")

LISTENER, MECHANISM = "LOGIN", "SCRAM-SHA-256"
WAY_OUT = "an administrator allows it with `penstock security acl add --allow-principal User:NAME"

Refused = Callable[..., str]


@pytest.fixture(scope="module")
def user(broker: SecuredBroker) -> str:
    """A user who may do nothing to the cluster."""
    name = broker.new_user()
    if broker.kind == "kafka":  # which opens the cluster to all, to itself among them, until a rule is about it
        with broker.as_admin() as client:
            AclClient(client).created(
                rule(CLUSTER, "kafka-cluster", principal="User:*", operation=ALL),
                rule(CLUSTER, "kafka-cluster", principal=f"User:{name}", operation=ALL, permission=DENY),
            )
    return name


@pytest.fixture
def run(broker: SecuredBroker, penstock: Commands, user: str) -> Callable[..., Outcome]:
    properties = broker.properties(LISTENER, MECHANISM, user)
    return lambda *args, **more: penstock(properties, LISTENER, *args, **more)


@pytest.fixture(scope="module")
def closed(broker: SecuredBroker) -> str:
    """A topic that only the administrator may use, and a name for which the same holds, with whatever follows it."""
    topic = broker.new_topic(is_open=False)
    with broker.as_admin() as client:  # so that Apache Kafka has rules for them, without which they would be open
        AclClient(client).created(
            *(rule(kind, topic, PREFIXED, principal="User:nobody", operation=ALL) for kind in (TOPIC, GROUP))
        )
    return topic


@pytest.fixture
def refused(run: Callable[..., Outcome]) -> Refused:
    """The only line of a command that is refused."""

    def told(*args: object, **more: str) -> str:
        (line,) = run(*args, code=ExitCode.FAILURE, **more).err.splitlines()
        return line

    return told


@pytest.mark.parametrize("command", [("list",), ("add", "carol"), ("password", "bob"), ("remove", "bob")])
def test_users(refused: Refused, command: tuple[str, ...]) -> None:
    told = refused("security", "user", *command, stdin="a-long-secret\n")
    assert told == f"penstock: this principal may not see users; {WAY_OUT} --operation Describe --cluster`"


@pytest.mark.parametrize("command", ["list", "remove"])
def test_rules_that_may_not_be_seen(refused: Refused, command: str) -> None:
    told = refused("security", "acl", command, "--topic", "orders")
    assert told == f"penstock: this principal may not see rules; {WAY_OUT} --operation Describe --cluster`"


def test_rules_that_may_not_be_made(refused: Refused) -> None:
    told = refused("security", "acl", "add", "--allow-principal", "User:me", "--topic", "orders")
    assert told == f"penstock: this principal may not change rules; {WAY_OUT} --operation Alter --cluster`"


TOPIC_COMMANDS: list[tuple[tuple[str, ...], str]] = [
    (("consume",), "--operation Read"),
    (("produce",), "--operation Write"),
    (("topic", "describe"), "--operation Describe --operation DescribeConfigs"),
    (("topic", "alter", "--partitions", "4"), "--operation Alter"),
    (("topic", "alter", "--config", "retention.ms=1"), "--operation Describe --operation AlterConfigs"),
    (("topic", "delete"), "--operation Delete"),
]


@pytest.mark.parametrize(("command", "operations"), TOPIC_COMMANDS)
def test_topics(refused: Refused, closed: str, command: tuple[str, ...], operations: str) -> None:
    """Whether the topic exists is not told."""
    nothing_there = f"{closed}-not"
    for topic in (closed, nothing_there) if command == ("consume",) else (closed,):
        told = refused(*command, topic, stdin="text\n")
        seen = f"this principal may not describe topic {topic}, or it does not exist"
        assert told == f"penstock: {seen}; {WAY_OUT} {operations} --topic {topic}`"


@pytest.mark.parametrize(("command", "operation"), [("describe", "Describe"), ("delete", "Delete")])
def test_groups(refused: Refused, closed: str, command: str, operation: str) -> None:
    told = refused("group", command, closed)
    seen = f"this principal may not describe group {closed}, or it does not exist"
    assert told == f"penstock: {seen}; {WAY_OUT} --operation {operation} --group {closed}`"


def test_members_of_a_group(broker: SecuredBroker, refused: Refused, closed: str) -> None:
    topic = broker.new_topic()
    told = refused("consume", topic, "--group", closed)
    assert told == (
        f"penstock: this principal may not read as a member of group {closed}; {WAY_OUT} --operation Read"
        f" --group {closed}`"
    )


def test_a_producer_of_the_sdk_says_why_it_has_ended(broker: SecuredBroker, user: str) -> None:
    """It gets no producer id; the library only says of its messages that they were given up."""
    closed = broker.new_topic(is_open=False)
    with broker.as_admin() as client:
        AclClient(client).created(rule(TOPIC, closed, principal=f"User:{user}", operation=READ))
    config = broker.properties(LISTENER, MECHANISM, user)
    with Producer(broker.address(LISTENER), config=config) as producer:
        for _ in range(2):
            with pytest.raises(NotAllowed, match="uthorization failed"):
                producer.send(closed, b"").result(30)


def test_what_does_not_exist_is_told_to_those_who_may_know(run: Callable[..., Outcome]) -> None:
    absent = unique_name(OPEN)
    for command in (("consume", absent), ("topic", "describe", absent), ("group", "describe", absent)):
        assert "does not exist; " in run(*command, code=ExitCode.NOT_FOUND).err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("quota", "list"), "see quotas;DescribeConfigs"),
        (("quota", "set", "--user", "x", "producer_byte_rate=1"), "change quotas;AlterConfigs"),
        (("client-metrics", "list"), "see subscriptions of metrics;DescribeConfigs"),
        (("client-metrics", "set", "x", "--metrics", "*"), "change subscriptions of metrics;AlterConfigs"),
    ],
)
def test_the_cluster(refused: Refused, command: tuple[str, ...], told: str) -> None:
    act, operation = told.split(";")
    assert refused(*command) == f"penstock: this principal may not {act}; {WAY_OUT} --operation {operation} --cluster`"


@pytest.mark.parametrize(
    ("command", "act", "right"),
    [
        (("publish", "{}", "text"), "publish to topic {}", "Write --topic {}"),
        (("create-topic", "{}-new"), "create topic {}-new", "Create --topic {}-new"),
        (
            ("create-subscription", f"{OPEN}s", "{}"),
            f"create subscription {OPEN}s of {{}}",
            "Read --topic {}",
        ),
        (("join-subscription", "{}"), "join subscription {}", "Read --group {}"),
        (("delete-subscription", "{}"), "delete subscription {}", "Delete --group {}"),
    ],
)
def test_push(
    broker: SecuredBroker, user: str, closed: str, tmp_path: Path, command: tuple[str, ...], act: str, right: str
) -> None:
    if broker.kind == "kafka":
        pytest.skip("it has no push protocol")
    properties = broker.properties(LISTENER, MECHANISM, user)
    file = tmp_path / "client.properties"
    file.touch(0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    host, _, port = broker.address(LISTENER).rpartition(":")
    where = ("--host", host, "--port", port, "--command-config", file)
    arguments = [each.format(closed) for each in command]
    (told,) = CommandLine(None)("push", *arguments, *where, code=ExitCode.FAILURE).err.splitlines()
    assert told == f"penstock: this principal may not {act}; {WAY_OUT} --operation {right}`".replace("{}", closed)
