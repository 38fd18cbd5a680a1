"""A random word in every secret option is nowhere in what a session prints, logs and leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.support.acl_client import ALL, GROUP, LITERAL, TOPIC, TRANSACTIONAL_ID, AclClient, rule
from tests.support.raw_client import RawClient
from tests.support.secured_pair import Doors, SecuredPenstock

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def words() -> dict[str, str]:
    return {name: f"Zq{os.urandom(12).hex()}" for name in ("alice", "bob", "wrong", "key")}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, words: Mapping[str, str]) -> Iterator[SecuredPenstock]:
    users = {name: words[name] for name in ("alice", "bob")}
    process = SecuredPenstock(tmp_path_factory.mktemp("secured"), users)
    process.prepare()
    process.start()
    with RawClient(process.host, process.port) as client:
        client.create_topic("t")
        kinds = (TOPIC, GROUP, TRANSACTIONAL_ID)
        rows = [rule(kind, "*", LITERAL, who, "*", ALL) for kind in kinds for who in ("User:alice", "User:CN=client")]
        AclClient(client).created(*rows)
    yield process
    process.stop()


def encrypted_key(doors: Doors, password: str) -> str:
    encryption = serialization.BestAvailableEncryption(password.encode())
    form = serialization.PrivateFormat.PKCS8
    key = serialization.load_pem_private_key(doors.client.key_file.read_bytes(), None)
    return key.private_bytes(serialization.Encoding.PEM, form, encryption).decode()


def logins(doors: Doors, password: str, key_password: str) -> dict[str, dict[str, str]]:
    """Every secret option: JAAS, password, a key, and a key with a password."""
    named = doors.login_properties("alice", password)
    del named["sasl.jaas.config"]
    inline = doors.mutual_properties(inline=True)
    chosen = {
        "jaas": doors.login_properties("alice", password),
        "password": {**named, "sasl.username": "alice", "sasl.password": password},
        "key": inline,
        "key with password": {
            **inline,
            "ssl.keystore.key": encrypted_key(doors, key_password),
            "ssl.key.password": key_password,
        },
    }
    return {name: as_options(properties) for name, properties in chosen.items()}


def as_options(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in properties.items()}


def test_secrets_show_nowhere(secured: SecuredPenstock, words: dict[str, str], tmp_path: Path) -> None:
    doors = secured.doors
    good, bad = logins(doors, words["alice"], words["key"]), logins(doors, words["wrong"], words["key"])
    bad["key with password"]["kafka.ssl.key.password"] = words["wrong"]
    bad["key"]["kafka.ssl.keystore.key"] = f"-----BEGIN PRIVATE KEY-----\n{words['wrong']}\n-----END PRIVATE KEY-----"
    denied = {"jaas": as_options(doors.login_properties("bob"))}
    (tmp_path / "events").mkdir()
    request = tmp_path / "request.json"
    asked = {"good": good, "bad": bad, "denied": denied, "topic": "t", "directory": str(tmp_path)}
    request.write_text(json.dumps(asked))
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "tests.spark.secret_driver", str(request)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=800, check=False)
    request.unlink()
    assert done.returncode == 0, done.stderr[-5000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith(("good ", "bad ", "denied "))]
    outcomes = dict(line.split(": ", 1) for line in lines)
    assert len(outcomes) == 4 * (4 + 4 + 1)
    assert [each for each, what in outcomes.items() if what.startswith("done") != each.startswith("good ")] == []
    events = sorted((tmp_path / "events").rglob("*"))
    assert any("SQLExecutionStart" in path.read_text() for path in events if path.is_file()), "there is an event log"
    own_key = doors.client.key_file.read_text().splitlines()[1]
    left = {str(path): path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()}
    for secret in (*words.values(), own_key):
        assert secret not in done.stdout
        assert secret not in done.stderr
        assert [name for name, text in left.items() if secret in text] == []
