"""Commands of a user who lacks a right: one line that says what was refused and which rule allows it, exit code 1."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.cli.terminal.errors import ExitCode
from tests.own_clients.conftest import Commands
from tests.support.acl_client import ALL, CLUSTER, DENY, AclClient, rule
from tests.support.command_line import Outcome
from tests.support.secured_broker import SecuredBroker

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
