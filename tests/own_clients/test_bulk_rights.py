"""Bulk jobs of a user with the rights of the page, with none, and of one who does not log in."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.cli.terminal.errors import ExitCode
from tests.own_clients.conftest import Commands
from tests.support.command_line import CommandLine
from tests.support.secured_broker import ADMIN, SecuredBroker

pytestmark = pytest.mark.feature("F-04", "F-05")

PAGE = Path(__file__).parents[2] / "docs" / "bulk.md"
LISTENER, MECHANISM = "LOGIN", "SCRAM-SHA-256"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    now = datetime.now(UTC).isoformat()  # older rows would be removed at any time
    file.write_text(f"at,n\n{now},1\n{now},2\n")
    return file


def test_the_rules_of_the_page_are_enough(
    broker: SecuredBroker, penstock: Commands, source: Path, tmp_path: Path
) -> None:
    user, topic = broker.new_user(), broker.new_topic(is_open=False)
    mine, admins = (broker.properties(LISTENER, MECHANISM, name) for name in (user, ADMIN))
    load = ("load", source, "--topic", topic, "--timestamp", "at")
    failed = penstock(mine, LISTENER, *load, code=ExitCode.FAILURE)
    (told,) = failed.err.splitlines()
    assert told.startswith(f"penstock: TOPIC_AUTHORIZATION_FAILED: topic {topic}; an administrator allows it with")
    assert told.endswith("docs/bulk.md#rights has the rules for a job")
    recipes = [line for line in PAGE.read_text().splitlines() if line.startswith("acl add")]
    assert len(recipes) == 5
    for recipe in recipes:
        flags = shlex.split(recipe.replace("User:clerk", f"User:{user}").replace("sales", topic))
        penstock(admins, LISTENER, "security", *flags)
    assert penstock(mine, LISTENER, *load, "-o", "json").json["rows"] == 2
    archive = tmp_path / "archive"
    assert penstock(mine, LISTENER, "archive", topic, archive, "-o", "json").json["rows"] == 2
    again = penstock(mine, LISTENER, "replay", archive, "--topic", topic, "-o", "json")
    assert again.json["rows"] == 2


@pytest.mark.parametrize(
    ("listener", "told"), [("LOGIN", "wants a login; set security.protocol"), ("BOTH", "speaks TLS")]
)
def test_a_job_without_a_login_is_told_at_once(broker: SecuredBroker, source: Path, listener: str, told: str) -> None:
    """A broker hangs up on it, which is no reason to wait until the broker is back."""
    commands = CommandLine(broker.address(listener), timeout_s=30)
    failed = commands("load", source, "--topic", "any", code=ExitCode.FAILURE)
    (line,) = failed.err.splitlines()
    assert told in line
    assert line.endswith("give a file of properties with --command-config")
