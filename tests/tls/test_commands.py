"""Commands against a secured broker, with their properties in a file: Java's names and librdkafka's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.sdk import Admin
from tests.support.command_line import CommandLine
from tests.tls.conftest import PASSWORD, SecuredProcess


@pytest.fixture
def java_names(broker: SecuredProcess, tmp_path: Path) -> Path:
    """Alice's certificate and key in one file, as Java's client has them."""
    issued = broker.authority.issue("alice", file_name="java-client")
    store = tmp_path / "alice.pem"
    store.write_bytes(issued.certificate_file.read_bytes() + issued.key_file.read_bytes())
    path = tmp_path / "java.properties"
    path.write_text(
        f"""security.protocol=SSL
ssl.keystore.type=PEM
ssl.keystore.location={store}
ssl.truststore.type=PEM
ssl.truststore.location={broker.authority.file}
"""
    )
    return path


@pytest.mark.parametrize("from_environment", [False, pytest.param(True, marks=pytest.mark.full)])
def test_commands_of_every_kind(broker: SecuredProcess, java_names: Path, from_environment: bool) -> None:
    command = CommandLine(broker.address("MUTUAL"))
    topic = f"commands-{from_environment}"

    def run(*args: object, stdin: str = "") -> str:
        if from_environment:
            return command(*args, stdin=stdin, PENSTOCK_COMMAND_CONFIG=str(java_names)).out
        return command(*args, "--command-config", java_names, stdin=stdin).out

    run("topic", "create", topic)
    assert topic in run("topic", "list")
    run("produce", topic, stdin="one\ntwo\n")
    assert run("consume", topic, "--count", 2, "--from", "earliest").splitlines() == ["one", "two"]
    assert topic in run("topic", "describe", topic)
    run("quota", "set", "--user", "alice", "producer_byte_rate=1000000")
    assert "producer_byte_rate" in run("quota", "list")
    assert json.loads(run("transaction", "list", "-o", "json")) == []
    assert "alice" in run("security", "user", "list")
    run("security", "acl", "list")


def test_a_file_of_librdkafkas_names_and_a_property_that_wins(broker: SecuredProcess, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        f"""# a login
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-256
sasl.username=alice
sasl.password={PASSWORD}
ssl.ca.location={broker.authority.file}
"""
    )
    path.chmod(0o600)
    command = CommandLine(broker.address("LOGIN"))
    command("topic", "list", "--command-config", path)
    failed = command("topic", "list", "--command-config", path, "-X", "sasl.password=other", code=1)
    assert "uthentication" in failed.err
    assert PASSWORD not in failed.err
    assert "other" not in failed.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("security.protocol=TLS\n", "security.protocol is one of PLAINTEXT, SSL"),
        ("ssl.truststore.type=JKS\n", "only PEM can be read"),
        ("nonsense\n", "line 1 is not NAME=VALUE"),
    ],
)
def test_mistakes_in_the_file(broker: SecuredProcess, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text)
    assert told in CommandLine(broker.address("PLAIN"))("topic", "list", "--command-config", path, code=2).err


def test_the_sdk_lists_transactions_there(broker: SecuredProcess) -> None:
    issued = broker.authority.issue("alice", file_name="sdk-client")
    config = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(broker.authority.file),
        "ssl.certificate.location": str(issued.certificate_file),
        "ssl.key.location": str(issued.key_file),
    }
    with Admin(broker.address("MUTUAL"), config=config) as admin:
        assert admin.list_transactions() == []
