"""The ports of a registry and of an edge application: closed to other machines unless they are protected."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.command_line import CommandLine

REGISTRY, EDGE = ("registry", "serve"), ("edge",)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def refused(command: tuple[str, ...], directory: Path, *flags: object, code: int = 2, **environ: str) -> str:
    place = ("--port", free_port(), "--data-dir", directory / "data")
    told = CommandLine(None)(*command, *place, *flags, code=code, **environ).err
    assert not (directory / "data").exists(), "nothing is left behind"
    return told


@pytest.mark.parametrize("command", [REGISTRY, pytest.param(EDGE, marks=pytest.mark.full)])
def test_an_open_port_for_other_machines_ends_the_start(command: tuple[str, ...], tmp_path: Path) -> None:
    told = refused(command, tmp_path, "--host", "0.0.0.0")
    assert "is PLAINTEXT: every client that reaches it gets in" in told
    assert "--insecure" in told
    assert "127.0.0.1" in told


@pytest.mark.full
@pytest.mark.parametrize("command", [REGISTRY, EDGE])
def test_a_port_with_tls_and_without_rules_ends_the_start(
    command: tuple[str, ...], tmp_path: Path, authority: Authority
) -> None:
    issued = authority.issue("server")
    tls = {"certificate_file": str(issued.certificate_file), "key_file": str(issued.key_file)}
    config = tmp_path / "port.yml"
    config.write_text(yaml.safe_dump({"security": {"protocol": "SSL"}, "tls": tls}))
    assert "has no rules" in refused(command, tmp_path, "--host", "0.0.0.0", "--config", config)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("kafka.port=9092", "has no effect here"),
        pytest.param("security.protocol=SASL_SSL", "has no certificate", marks=pytest.mark.full),
        pytest.param("security.protocol=SASL_PLAINTEXT", "nobody who could log in", marks=pytest.mark.full),
        pytest.param("security.users_file=x", "is for logins", marks=pytest.mark.full),
        pytest.param("acl.policy_file=x", "acl.enabled", marks=pytest.mark.full),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(setting: str, told: str, tmp_path: Path) -> None:
    assert told in refused(REGISTRY, tmp_path, "--set", setting)


@pytest.mark.full
def test_variables_of_a_node_do_not_disturb_a_registry(tmp_path: Path) -> None:
    told = refused(REGISTRY, tmp_path, "--host", "0.0.0.0", PENSTOCK_KAFKA__PORT="no port", PENSTOCK_CONFIG="/nowhere")
    assert "PLAINTEXT" in told
    told = refused(REGISTRY, tmp_path, PENSTOCK_SECURITY__PROTOCOL="SASL_SSL")
    assert "has no certificate" in told


@pytest.mark.full
def test_a_users_file_that_others_can_read_ends_the_start(tmp_path: Path) -> None:
    users = tmp_path / "users.json"
    commands = CommandLine(None)
    commands("security", "user", "add", "alice", "--users-file", users, stdin="alice-secret\n")
    users.chmod(0o644)
    flags = ("--set", "security.protocol=SASL_PLAINTEXT", "--set", f"security.users_file={users}")
    assert "chmod 600" in refused(REGISTRY, tmp_path, *flags)
    users.chmod(0o600)
    listed = commands("security", "user", "list", "--users-file", users, "-o", "json").json
    assert [each["user"] for each in listed] == ["alice"]
    commands("security", "user", "password", "alice", "--users-file", users, stdin="another\n")
    commands("security", "user", "remove", "alice", "--users-file", users)
    assert commands("security", "user", "list", "--users-file", users, "-o", "json").json == []
    assert "secret" in users.read_text()  # the key of decoys stays
    assert "alice-secret" not in users.read_text()
