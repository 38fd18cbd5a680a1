"""`penstock security token` against a real broker with TLS and logins."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.terminal.errors import ExitCode
from tests.support.command_line import CommandLine
from tests.web_login.secured import USERS, WebClient, WebProcess


@pytest.fixture
def config(broker: WebProcess, tmp_path: Path) -> Path:
    """The file of a user; its password is nowhere else."""
    path = tmp_path / "client.properties"
    path.write_text(f"sasl.username=alice\nsasl.password={USERS['alice']}\nssl.ca.location={broker.authority.file}\n")
    return path


def test_a_token_is_made_listed_and_revoked(broker: WebProcess, client: WebClient, config: Path) -> None:
    penstock = CommandLine(None)
    where = ("--url", f"https://127.0.0.1:{broker.http_port}", "--command-config", str(config))
    made = penstock("security", "token", "create", "nightly backup", "--days", "7", *where)
    word = made.out.strip()
    assert client.ask("/api/v1/topics", f"Bearer {word}").status == 200
    assert word not in made.err
    (listed,) = [
        each
        for each in penstock("security", "token", "list", "--output", "json", *where).json
        if each["name"] == "nightly backup"
    ]
    assert listed["principal"] == "User:alice"
    assert listed["expires"] - listed["created"] == 7 * 86_400_000
    assert "nightly backup" in penstock("security", "token", "list", *where).out
    penstock("security", "token", "revoke", listed["id"], *where)
    assert client.ask("/api/v1/topics", f"Bearer {word}").status == 401
    assert "not its id" in penstock("security", "token", "revoke", word, *where, code=ExitCode.USAGE).err
    again = penstock("security", "token", "revoke", listed["id"], *where, code=ExitCode.FAILURE)
    assert "you may not do that to the cluster" in again.err  # it could be another's


def test_a_wrong_login_and_a_wrong_url(broker: WebProcess, config: Path) -> None:
    penstock = CommandLine(None)
    url = f"https://127.0.0.1:{broker.http_port}"
    config.write_text(config.read_text().replace(USERS["alice"], "wrong-password"))
    command = ("security", "token", "list", "--url")
    refused = penstock(*command, url, "--command-config", config, code=ExitCode.FAILURE)
    assert "wrong" in refused.err
    assert "wrong-password" not in refused.err
    assert "--command-config" in refused.err
    unverified = penstock(*command, url, code=ExitCode.FAILURE)
    assert "is not trusted" in unverified.err
    assert "ssl.ca.location" in unverified.err
    plain = penstock(*command, "http://broker.example", "--command-config", config, code=ExitCode.USAGE)
    assert "plain text" in plain.err
