"""Every authenticator: the node's own users, and one of another package, which may fail, hang and answer nonsense."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from tests.conformance.security_node import USERS, SecurityNode, running
from tests.conformance.test_choosing import start_error
from tests.support.push_client import PushRefused
from tests.support.push_login import PLAIN, step
from tests.support.raw_client import unique_name
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-04", "P-01")

FAILED = ErrorCode.sasl_authentication_failed
TOLD = "Authentication failed: Invalid username or password"
DIRECTORY = "alice alice-secret User:alice\nbob bob-secret Service:b-o-b\n"


def with_file(directory: Path, **security: object) -> SecurityNode:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "users").write_text(DIRECTORY)
    options = {"file": str(directory / "users"), "password": "env:DIRECTORY_PASSWORD"}
    settings = {"authenticator": "file", "authenticator_options": options, "authenticator_remember_ms": 0, **security}
    return SecurityNode(directory, {"carol": "carol-secret"}, security=settings)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecurityNode]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DIRECTORY_PASSWORD", "a-secret-of-the-settings")
        with running(with_file(tmp_path_factory.mktemp("foreign"))) as started:
            yield started


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecurityNode]:
    with running(SecurityNode(tmp_path_factory.mktemp("own"))) as started:
        yield started


@pytest.fixture(params=["own", "foreign"])
def node(request: pytest.FixtureRequest) -> SecurityNode:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, SecurityNode)
    return found


def test_a_right_password_logs_in_at_every_door(node: SecurityNode) -> None:
    with node.kafka() as kafka, node.push() as push, contextlib.closing(node.web()) as web:
        assert kafka.plain("alice", USERS["alice"]).error_code == ErrorCode.none
        assert kafka.is_served()
        assert step(push, PLAIN, f"\0alice\0{USERS['alice']}".encode()).lifetime_ms == 0
        assert web.ask("/api/v1/session", basic("alice", USERS["alice"])).json == {"principal": "User:alice"}


def test_a_wrong_password_and_an_unknown_user_do_not(node: SecurityNode) -> None:
    for user in ("alice", unique_name("nobody")):
        with node.kafka() as kafka, node.push() as push, contextlib.closing(node.web()) as web:
            answer = kafka.plain(user, "wrong")
            assert (answer.error_code, answer.error_message) == (FAILED, TOLD)
            assert kafka.is_closed()
            with pytest.raises(PushRefused, match=TOLD):
                step(push, PLAIN, f"\0{user}\0wrong".encode())
            assert web.ask("/api/v1/session", basic(user, "wrong")).status == 401
        assert node.reasons(user) == ["wrong credentials"] * 3


def test_a_session_of_a_browser(node: SecurityNode) -> None:
    with contextlib.closing(node.web()) as web:
        begun = web.ask("/api/v1/session", basic("alice", USERS["alice"]), method="POST")
        cookie = begun.headers["Set-Cookie"].split(";")[0]
        assert web.ask("/api/v1/session", Cookie=cookie).json == {"principal": "User:alice"}


def test_the_authenticator_names_the_principal(foreign: SecurityNode) -> None:
    with contextlib.closing(foreign.web()) as web:
        assert web.ask("/api/v1/session", basic("bob", USERS["bob"])).json == {"principal": "Service:b-o-b"}


def test_scram_is_for_the_users_of_the_node(foreign: SecurityNode) -> None:
    with foreign.kafka() as own, foreign.kafka() as other:
        assert own.scram("carol", "carol-secret").error_code == ErrorCode.none
        assert other.plain("carol", "carol-secret").error_code == FAILED


def test_a_change_elsewhere_counts_for_the_next_login(foreign: SecurityNode) -> None:
    file = foreign.directory / "users"
    with contextlib.closing(foreign.web()) as web:
        assert web.ask("/api/v1/session", basic("alice", USERS["alice"])).status == 200
        file.write_text(DIRECTORY.replace("alice-secret", "another-secret"))
        try:
            assert web.ask("/api/v1/session", basic("alice", USERS["alice"])).status == 401
            assert web.ask("/api/v1/session", basic("alice", "another-secret")).status == 200
        finally:
            file.write_text(DIRECTORY)


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("raise", "the authenticator file failed: RuntimeError in security.py, line "),
        ("wrong-type", "the authenticator file failed: its answer is no principal, but str"),
    ],
)
def test_a_failure_is_a_refusal_with_one_line(foreign: SecurityNode, password: str, reason: str) -> None:
    user = unique_name("user")
    with foreign.kafka() as kafka:
        answer = kafka.plain(user, password)
        assert (answer.error_code, answer.error_message) == (FAILED, TOLD)
        assert kafka.is_closed()
    (found,) = foreign.reasons(user)
    assert found.startswith(reason)
    log = foreign.log_file.read_text()
    assert "Traceback" not in log
    assert "cannot check" not in log
    assert "a-secret-of-the-settings" not in log


def test_an_authenticator_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More logins than it has threads are refused in time; the node serves others, and stops."""
    monkeypatch.setenv("DIRECTORY_PASSWORD", "x")
    node = with_file(tmp_path / "node", authenticator_timeout_ms=500, authenticator_threads_max=2)
    with running(node), contextlib.ExitStack() as stack:
        users = [unique_name("user") for _ in range(4)]
        clients = [stack.enter_context(node.kafka()) for _ in users]
        for client, user in zip(clients, users, strict=True):
            assert client.handshake(PLAIN) == ErrorCode.none
            client.send("sasl_authenticate", 2, auth_bytes=f"\0{user}\0hang".encode())
        carol = stack.enter_context(node.kafka())
        assert carol.scram("carol", "carol-secret").error_code == ErrorCode.none
        for client in clients:
            assert client.receive("sasl_authenticate", 2)[1].error_code == FAILED
        assert [node.reasons(user) for user in users] == [["the authenticator has not answered in time"]] * 4
        assert carol.is_served()


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    sasl = {"protocol": "SASL_PLAINTEXT"}
    assert "there is users, file" in start_error(
        tmp_path, security={"authenticator": "ldap", **sasl}, sasl={"enabled_mechanisms": ["PLAIN"]}
    )
    assert "no listener takes passwords" in start_error(tmp_path, security={"authenticator": "file"})
    assert "security.authenticator is not" in start_error(tmp_path, security={"authenticator_options": {"a": "b"}})
    wrong = {"file": "x", "password": "wrong"}
    told = start_error(
        tmp_path,
        security={"authenticator": "file", "authenticator_options": wrong, **sasl},
        sasl={"enabled_mechanisms": ["PLAIN"]},
    )
    assert "cannot start: ValueError: the directory does not take '***'" in told
