"""Kafka's tools at a broker where they have to log in; `tests/compat/secured` has the clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from tests.compat.clients.java import run_tool
from tests.support.command_line import CommandLine
from tests.support.raw_client import unique_name
from tests.support.sasl_client import PLAIN, SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS, SaslProcess

pytestmark = pytest.mark.feature("F-04")


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslProcess]:
    process = SaslProcess(tmp_path_factory.mktemp("secured"))
    process.prepare()
    process.start()
    yield process
    process.stop()


def properties(directory: Path, mechanism: str, user: str = "alice", password: str = USERS["alice"]) -> str:
    """A file with the client's properties."""
    module = "plain.PlainLoginModule" if mechanism == PLAIN else "scram.ScramLoginModule"
    login = f'org.apache.kafka.common.security.{module} required username="{user}" password="{password}";'
    file = directory / "client.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\nacks=all\n"
    )
    return str(file)


def test_the_java_tool_makes_users(secured: SaslProcess, tmp_path: Path) -> None:
    user = unique_name("user")
    address = ("--bootstrap-server", secured.bootstrap, "--command-config", properties(tmp_path, SCRAM_512))
    run_tool(
        "kafka.admin.ConfigCommand",
        *address,
        *("--alter", "--entity-type", "users", "--entity-name", user),
        *("--add-config", "SCRAM-SHA-256=[iterations=8192,password=first-secret]"),
    )
    with SaslClient(secured.host, secured.port) as client:
        assert client.scram(user, "first-secret").error_code == ErrorCode.none
    described = run_tool(
        "kafka.admin.ConfigCommand", *address, "--describe", "--entity-type", "users", "--entity-name", user
    )
    assert "SCRAM-SHA-256=iterations=8192" in described


FILE = r"""
! a password of a"b\c d;e, in the notation of java.util.Properties and that of login configurations
security.protocol: SASL_PLAINTEXT
sasl.mechanism SCRAM-SHA-256
sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="%s" \
    password="a\\"b\\\\c d;\u0065";
"""


def test_a_file_of_properties_is_read_as_by_the_java_tools(secured: SaslProcess, tmp_path: Path) -> None:
    user = unique_name("user")
    password, file = tmp_path / "password", tmp_path / "client.properties"
    password.write_text('a"b\\c d;e')
    penstock = CommandLine(secured.bootstrap)
    admin = ("--command-config", properties(tmp_path, SCRAM_512))
    penstock("security", "user", "add", user, "--password-file", password, *admin)
    file.write_text(FILE % user)
    penstock("topic", "create", user, "--command-config", file)
    listed = run_tool("TopicCommand", "--bootstrap-server", secured.bootstrap, "--command-config", str(file), "--list")
    assert user in listed.split()
    assert user in penstock("topic", "list", "--command-config", file).out.split()


def test_a_wrong_password_is_an_authentication_error(secured: SaslProcess, tmp_path: Path) -> None:
    file = properties(tmp_path, SCRAM_256, "carol", "wrong")
    told = run_tool("TopicCommand", "--bootstrap-server", secured.bootstrap, "--command-config", file, "--list", code=1)
    assert "SaslAuthenticationException: Authentication failed during authentication due to invalid credentials" in told
