"""`penstock quota` against a running broker."""

import pytest
from typer.testing import CliRunner

from penstock.cli.kafka.quota import app
from penstock.cli.terminal.errors import CommandError, ExitCode
from tests.cli.conftest import CommandLine

pytestmark = pytest.mark.feature("F-01")


def test_quotas_are_set_listed_and_removed(penstock: CommandLine, name: str) -> None:
    who = ["--client-id", name, "--user", "ann"]
    penstock("quota", "set", *who, "producer_byte_rate=1000000", "request_percentage=12.5")
    (row,) = penstock("quota", "list", *who, "--output", "json").json
    assert row == {
        "entity": {"client-id": name, "user": "ann"},
        "quotas": {"producer_byte_rate": 1000000.0, "request_percentage": 12.5},
    }
    table = [line.split() for line in penstock("quota", "list").lines]
    assert ["client-id", f"{name},", "user", "ann", "producer_byte_rate", "1,000,000"] in table
    penstock("quota", "remove", *who, "request_percentage")
    (row,) = penstock("quota", "list", *who, "--output", "json").json
    assert row["quotas"] == {"producer_byte_rate": 1000000.0}
    penstock("quota", "remove", *who)
    assert penstock("quota", "list", *who, "--output", "json").json == []
    assert "no quotas of" in penstock("quota", "list", *who).err


def test_changes_of_quotas_speak_json(penstock: CommandLine) -> None:
    as_json = ["--output", "json"]
    entity = {"ip": "10.1.2.3"}
    made = penstock("quota", "set", "--ip", "10.1.2.3", "connection_creation_rate=50", *as_json)
    assert made.json == {"entity": entity, "set": {"connection_creation_rate": 50.0}}
    removed = penstock("quota", "remove", "--ip", "10.1.2.3", *as_json)
    assert removed.json == {"entity": entity, "removed": ["connection_creation_rate"]}


def test_defaults(penstock: CommandLine) -> None:
    who = ["--user-default", "--client-id-default"]
    penstock("quota", "set", *who, "consumer_byte_rate=1e9")
    (row,) = penstock("quota", "list", *who, "-o", "json").json
    assert row["entity"] == {"client-id": None, "user": None}
    assert "any client-id, any user" in penstock("quota", "list").out
    penstock("quota", "remove", *who)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["producer_byte_rate=5"], "whose quota?"),
        (["-i", "x", "producer_byte_rat=5"], "did you mean producer_byte_rate?"),
        (["-i", "x", "connection_creation_rate=5"], "there are producer_byte_rate,"),
        (["-i", "x", "producer_byte_rate"], "is not NAME=VALUE"),
        (["-i", "x", "producer_byte_rate=much"], "producer_byte_rate=much is not a number above 0"),
        (["-i", "x", "producer_byte_rate=0"], "`penstock quota remove` takes a limit away"),
        (["-i", "", "producer_byte_rate=5"], "--client-id is empty; use --client-id-default"),
        (["-i", "x", "--client-id-default", "producer_byte_rate=5"], "cannot be used together"),
        (["--ip", "10.0.0.1", "-u", "x", "connection_creation_rate=5"], "cannot be combined with users"),
    ],
)
def test_wrong_usage_is_explained_before_a_broker_is_asked(arguments: list[str], message: str) -> None:
    error = CliRunner().invoke(app, ["set", *arguments]).exception
    assert isinstance(error, CommandError)
    assert message in str(error)
    assert error.code == ExitCode.USAGE


def test_refusals_are_explained(penstock: CommandLine) -> None:
    fraction = penstock("quota", "set", "-i", "x", "producer_byte_rate=1.5", code=1)
    assert "client-id x: producer_byte_rate cannot be a fractional value" in fraction.err
    nowhere = penstock("quota", "remove", "-i", "nobody", "producer_byte_rate", code=4)
    assert "quota producer_byte_rate of client-id nobody does not exist" in nowhere.err


def test_no_broker(alone: CommandLine) -> None:
    assert "no broker at" in alone("quota", "list", "--bootstrap-server", "127.0.0.1:1", code=3).err
