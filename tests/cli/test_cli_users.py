"""`penstock security user` against a running broker, and in the data of one that is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from penstock.cli.terminal.errors import ExitCode
from tests.cli.conftest import CommandLine
from tests.support.sasl_client import SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS, SaslProcess
from tests.support.user_client import describe

pytestmark = pytest.mark.feature("F-04")

USER = ("security", "user")
BOTH = {SCRAM_256: 8192, SCRAM_512: 8192}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslProcess]:
    """A broker at which commands have to log in."""
    process = SaslProcess(tmp_path_factory.mktemp("secured"))
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def admin(secured: SaslProcess, tmp_path: Path) -> CommandLine:
    """The command as alice, whose password is in a file."""
    file = tmp_path / "admin.properties"
    file.write_text(
        "# who I am\n\nsecurity.protocol = SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f"sasl.username=alice\nsasl.password={USERS['alice']}\n"
    )
    command = CommandLine(secured.bootstrap)
    command.environ["PENSTOCK_COMMAND_CONFIG"] = str(file)
    return command


def logs_in(broker: SaslProcess, user: str, password: str, mechanism: str = SCRAM_256) -> bool:
    with SaslClient(broker.host, broker.port) as client:
        return bool(client.scram(user, password, mechanism).error_code == ErrorCode.none)


def shown(broker: SaslProcess, user: str) -> tuple[int, str]:
    """What SCRAM shows to everybody who names a user: the length of the salt, and the iterations."""
    with SaslClient(broker.host, broker.port) as client:
        assert client.handshake(SCRAM_512) == ErrorCode.none
        first = client.authenticate(f"n,,n={user},r=nonce".encode()).auth_bytes.decode()
    _, salt, iterations = first.split(",")
    return len(salt), iterations


def listed(command: CommandLine, *args: object) -> dict[str, dict[str, int]]:
    return {row["user"]: row["mechanisms"] for row in command(*USER, "list", "-o", "json", *args).json}


def users_of(broker: SaslProcess) -> dict[str, ErrorCode | dict[int, int]]:
    """The same without a command, which takes a second."""
    with SaslClient(broker.host, broker.port) as client:
        client.scram("alice", USERS["alice"])
        return describe(client)


def test_users_are_made_changed_and_removed(admin: CommandLine, secured: SaslProcess, name: str) -> None:
    admin(*USER, "add", name, stdin="first secret\n")
    assert listed(admin)[name] == BOTH
    assert logs_in(secured, name, "first secret", SCRAM_512)
    assert f"password of {name} changed" in admin(*USER, "password", name, stdin="second secret").err
    assert not logs_in(secured, name, "first secret")
    assert logs_in(secured, name, "second secret")
    table = [line.split() for line in admin(*USER, "list").lines]
    assert [name, SCRAM_256, "8,192"] in table
    told = admin(*USER, "remove", name, "-m", SCRAM_256).err
    assert f"{SCRAM_256} of user {name} removed; {name} can still log in with {SCRAM_512}\n" in told
    assert listed(admin)[name] == {SCRAM_512: 8192}
    admin(*USER, "password", name, "--iterations", 4096, stdin="third secret")
    assert listed(admin)[name] == {SCRAM_512: 4096}, "a password is changed for the mechanisms that there are"
    forms = {shown(secured, each) for each in (name, "alice", "nobody")}
    assert len(forms) == 1, "made over the wire, made in the data, and no user at all"
    assert f"user {name} removed\n" in admin(*USER, "remove", name, "-m", SCRAM_512).err
    assert name not in listed(admin)
    assert not logs_in(secured, name, "third secret", SCRAM_512)


def test_passwords_come_from_a_file(admin: CommandLine, secured: SaslProcess, name: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("päss = word \r\nanother line\n")
    made = admin(*USER, "add", name, "--password-file", file, "-m", SCRAM_256, "-o", "json")
    assert made.json == {"user": name, "made": [SCRAM_256]}
    assert logs_in(secured, name, "päss = word ")
    changed = admin(*USER, "password", name, "--password-file", "-", "-o", "json", stdin="x")
    assert changed.json == {"user": name, "changed": [SCRAM_256]}
    assert admin(*USER, "remove", name, "-o", "json").json == {"user": name, "removed": [SCRAM_256]}


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "told"),
    [
        (("add", "alice"), "x", ExitCode.USAGE, "user alice exists; change its password with"),
        (("add", "carol"), "", ExitCode.USAGE, "the password is empty"),
        (("add", "carol"), "\nx", ExitCode.USAGE, "the password is empty"),
        (("add", "carol"), "x" * 1025, ExitCode.USAGE, "at most 1024 bytes"),
        (("add", "carol", "-m", "PLAIN"), "x", ExitCode.USAGE, "--mechanism PLAIN is unknown"),
        (("add", "carol", "--iterations", "4095"), "x", ExitCode.USAGE, "4096"),
        (("add", "soft\u00adhyphen"), "x", ExitCode.FAILURE, "SASLprep"),
        (("add", "carol", "--password-file", "/nowhere"), "", ExitCode.NOT_FOUND, "/nowhere: No such file"),
        (("password", "alic"), "x", ExitCode.NOT_FOUND, "user alic does not exist; did you mean alice?"),
        (("remove", "nobody"), "", ExitCode.NOT_FOUND, "user nobody does not exist"),
        (("add", "carol", "--password", "x"), "", ExitCode.USAGE, "No such option"),
    ],
)
def test_mistakes_change_nothing(
    admin: CommandLine, secured: SaslProcess, arguments: tuple[str, ...], stdin: str, code: ExitCode, told: str
) -> None:
    before = users_of(secured)
    assert told in admin(*USER, *arguments, stdin=stdin, code=code).err
    assert users_of(secured) == before


def test_a_command_that_cannot_log_in_says_so(secured: SaslProcess, tmp_path: Path) -> None:
    command = CommandLine(secured.bootstrap)
    file = tmp_path / "wrong.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=wr0ng\n"
    )
    outcome = command(*USER, "list", "--command-config", file, code=ExitCode.FAILURE)
    assert "Invalid username or password" in outcome.err
    assert "check sasl.username and sasl.password" in outcome.err
    assert "wr0ng" not in outcome.err
    file.write_text("nonsense\n")
    told = command(*USER, "list", "--command-config", file, code=ExitCode.USAGE).err
    assert "line 1 is not NAME=VALUE" in told
    assert "No such file" in command(*USER, "list", "--command-config", tmp_path / "x", code=ExitCode.NOT_FOUND).err


def test_the_first_user_is_made_before_the_first_start(alone: CommandLine, tmp_path: Path) -> None:
    """In a directory that does not exist yet; a node that runs there is not disturbed."""
    data = tmp_path / "node" / "data"
    assert alone(*USER, "list", "--data-dir", data).out == ""
    assert "user admin made" in alone(*USER, "add", "admin", "--data-dir", data, stdin="x").err
    assert "exists" in alone(*USER, "add", "admin", "--data-dir", data, stdin="x", code=ExitCode.USAGE).err
    alone(*USER, "password", "admin", "--data-dir", data, "--iterations", 4096, stdin="y")
    assert listed(alone, "--data-dir", data) == {"admin": {SCRAM_256: 4096, SCRAM_512: 4096}}
    node = SaslProcess(tmp_path / "node", users={})
    node.prepare()
    node.start()
    try:
        assert logs_in(node, "admin", "y")
        assert not logs_in(node, "admin", "x")
        told = alone(*USER, "add", "other", "--data-dir", data, stdin="x", code=ExitCode.FAILURE).err
        assert f"in use by process {node.pid}" in told
    finally:
        node.stop()
