"""Logins that let nobody in: at each door Kafka's code or 401, late, and one line in the log."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
from kio.schema.errors import ErrorCode
from scramp import ScramClient

from penstock.model.errors import ErrorCode as Code
from penstock.protocol.push import messages as m
from tests.secured.node import ADMIN, FAILURE_DELAY_MS, PASSWORD, SecuredNode
from tests.support.push_client import PushClient, PushRefused
from tests.support.push_login import log_in, step
from tests.support.raw_client import unique_name
from tests.support.sasl_client import PLAIN, SCRAM_256, SaslClient
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion
from tests.support.wire import frame
from tests.web_login.secured import basic_bytes

pytestmark = pytest.mark.feature("F-04")

WRONG = "wrong credentials"
MESSAGES = {  # the message of PLAIN, with the user's name for USER, and the reason in the log
    "wrong password": (b"\0USER\0wrong", WRONG),
    "unknown user": (b"\0nobody-USER\0USER", WRONG),
    "empty user": (b"\0\0USER", "no user name"),
    "empty password": (b"\0USER\0", "no password"),
    "NUL in the password": (b"\0USER\0US\0ER", "a message that has not three parts"),
    "NUL in the name": (b"\0US\0ER\0USER", "a message that has not three parts"),
    "another's authorization id": (b"admin\0USER\0USER", "the authorization id of another user"),
}
Change = Callable[[str, str], str]


@contextlib.contextmanager
def late() -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun >= 0.95 * FAILURE_DELAY_MS / 1000, "but for what a timer may be early"


def kafka_refuses(client: SaslClient, mechanism: str, message: bytes) -> None:
    assert client.handshake(mechanism) == ErrorCode.none
    with late():
        answer = client.authenticate(message)
        assert answer.error_code == ErrorCode.sasl_authentication_failed
        assert answer.auth_bytes == b""
    assert client.is_closed()


def push_refuses(client: PushClient, mechanism: str, message: bytes) -> None:
    with late(), pytest.raises(PushRefused) as refused:
        step(client, mechanism, message)
    assert refused.value.code == Code.SASL_AUTHENTICATION_FAILED
    assert client.ends() == []


# --- passwords -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", MESSAGES)
def test_passwords_of_kafka_clients(node: SecuredNode, user: str, source: str, case: str) -> None:
    message, reason = MESSAGES[case]
    with node.kafka(source=source) as client, node.one_line(reason):
        kafka_refuses(client, PLAIN, message.replace(b"USER", user.encode()))


def test_a_bare_password_of_a_kafka_client(node: SecuredNode, user: str, source: str) -> None:
    """Behind the oldest handshake a refusal is the end of the connection, without an answer."""
    with node.kafka(source=source) as client, node.one_line(WRONG):
        assert client.handshake(PLAIN, version=0) == ErrorCode.none
        with late():
            client.send_bytes(frame(f"\0{user}\0wrong".encode()))
            assert client.is_closed()


@pytest.mark.parametrize("case", MESSAGES)
def test_passwords_of_push_clients(node: SecuredNode, user: str, source: str, case: str) -> None:
    message, reason = MESSAGES[case]
    with node.push(source=source) as client, node.one_line(reason):
        push_refuses(client, PLAIN, message.replace(b"USER", user.encode()))


@pytest.mark.parametrize("case", [case for case in MESSAGES if "authorization" not in case])
def test_passwords_of_http_clients(node: SecuredNode, user: str, source: str, case: str) -> None:
    message, reason = MESSAGES[case]
    _, name, password = message.replace(b"USER", user.encode()).split(b"\0", 2)
    with contextlib.closing(node.web(source=source)) as client, node.one_line(reason):
        with late():
            answer = client.ask("/api/v1/topics", basic_bytes(name + b":" + password))
        assert answer.status == 401
        assert answer.json["error"] == "SASL_AUTHENTICATION_FAILED"
        assert not client.is_open


def test_a_wrong_token_and_a_wrong_cookie(node: SecuredNode, source: str) -> None:
    with contextlib.closing(node.web(source=source)) as client, node.one_line("unknown, expired or revoked"):
        with late():
            assert client.ask("/api/v1/topics", "Bearer pst_wrong").status == 401
        assert client.ask("/api/v1/topics", Cookie="__Host-penstock-session=wrong").status == 401


# --- SCRAM -----------------------------------------------------------------------------------------------------------


def finals() -> dict[str, tuple[Change, str]]:
    """Last messages of SCRAM that are not what they should be, made of the right one, and the reason in the log."""

    def other_nonce(final: str, first: str) -> str:
        return final.replace("r=", "r=x", 1)

    def own_nonce(final: str, first: str) -> str:
        return final.replace(final.split(",")[1], first.rpartition(",")[2])

    def bound(final: str, first: str) -> str:
        return final.replace("c=biws", "c=" + base64.b64encode(b"p=tls-unique,,").decode())

    def other_flag(final: str, first: str) -> str:
        return final.replace("c=biws", "c=" + base64.b64encode(b"y,,").decode())

    def repeated(final: str, first: str) -> str:
        return first

    def other_proof(final: str, first: str) -> str:
        return final[: final.index("p=")] + "p=" + base64.b64encode(bytes(32)).decode()

    return {
        "changed nonce": (other_nonce, "another nonce than that of this login"),
        "nonce of the client alone": (own_nonce, "another nonce than that of this login"),
        "channel binding at the end": (bound, "channel-bindings-dont-match"),
        "another flag at the end": (other_flag, "channel-bindings-dont-match"),
        "first message again": (repeated, "another nonce than that of this login"),
        "another proof": (other_proof, "invalid-proof"),
    }


@pytest.mark.parametrize("door", ["kafka", "push"])
@pytest.mark.parametrize("case", finals())
def test_last_messages_of_scram(node: SecuredNode, user: str, source: str, case: str, door: str) -> None:
    change, reason = finals()[case]
    scram = ScramClient([SCRAM_256], user, user)
    first = scram.get_client_first()
    with node.one_line(reason):
        if door == "kafka":
            with node.kafka(source=source) as client:
                client.handshake(SCRAM_256)
                scram.set_server_first(client.authenticate(first.encode()).auth_bytes.decode())
                with late():
                    answer = client.authenticate(change(scram.get_client_final(), first).encode())
                assert answer.error_code == ErrorCode.sasl_authentication_failed
                assert client.is_closed()
        else:
            with node.push(source=source) as push:
                scram.set_server_first(step(push, SCRAM_256, first.encode()).message.decode())
                push_refuses(push, SCRAM_256, change(scram.get_client_final(), first).encode())


@pytest.mark.parametrize("door", ["kafka", "push"])
@pytest.mark.parametrize("first", ["p=tls-unique,,n=USER,r=nonce", "n,a=admin,n=USER,r=nonce", "x,,n=USER,r=nonce"])
def test_first_messages_of_scram(node: SecuredNode, user: str, source: str, first: str, door: str) -> None:
    message = first.replace("USER", user).encode()
    with node.one_line("login failed"):
        if door == "kafka":
            with node.kafka(source=source) as client:
                kafka_refuses(client, SCRAM_256, message)
        else:
            with node.push(source=source) as push:
                push_refuses(push, SCRAM_256, message)


@pytest.mark.parametrize("iterations", [1, 10**9])
def test_users_with_such_iterations_are_not_made(node: SecuredNode, iterations: int) -> None:
    name = unique_name("user")
    with node.admin() as admin:
        assert alter(admin, upsertion(name, iterations=iterations)) == {name: ErrorCode.unacceptable_credential}


# --- requests out of turn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True])
def test_requests_of_kafka_before_and_between_the_steps(node: SecuredNode, user: str, begun: bool) -> None:
    with node.kafka() as client, node.one_line("before the client has logged in"):
        if begun:
            client.handshake(SCRAM_256)
            client.authenticate(ScramClient([SCRAM_256], user, user).get_client_first().encode())
        client.send("metadata", 12, topics=None)
        assert client.is_closed()


@pytest.mark.parametrize("begun", [False, True])
def test_frames_of_push_before_and_between_the_steps(node: SecuredNode, user: str, begun: bool) -> None:
    with node.push() as client, node.one_line("before the client has logged in"):
        if begun:
            step(client, SCRAM_256, ScramClient([SCRAM_256], user, user).get_client_first().encode())
        client.send(m.CreateTopic("made-by-a-stranger", 1))
        (told,) = client.ends()
        assert told.code == Code.ILLEGAL_SASL_STATE


def test_requests_over_http_without_a_login(node: SecuredNode) -> None:
    with contextlib.closing(node.web()) as client:
        for method, path in (("GET", "/api/v1/topics"), ("GET", "/metrics"), ("POST", "/pipe/records")):
            assert client.ask(path, method=method).status == 401


# --- logging in again ------------------------------------------------------------------------------------------------


def test_another_user_of_kafka_at_the_second_login(node: SecuredNode, user: str, source: str) -> None:
    with node.kafka(source=source) as client:
        assert client.plain(user, user).error_code == ErrorCode.none
        with late(), node.one_line("another user than before"):
            answer = client.plain(ADMIN, PASSWORD)
        assert [line["user"] for line in node.lines() if line["message"] == "login failed"][-1] == ADMIN
        assert answer.error_code == ErrorCode.sasl_authentication_failed
        assert "Cannot change principals during re-authentication" in answer.error_message
        assert client.is_closed()


def test_another_user_of_push_at_the_second_login(node: SecuredNode, user: str, source: str) -> None:
    with node.push(source=source) as client:
        log_in(client, user, PLAIN, user)
        with late(), node.one_line("another user than before"):
            with pytest.raises(PushRefused, match="Cannot change principals"):
                log_in(client, ADMIN, PLAIN, PASSWORD)
            assert client.ends() == []


# --- changes ---------------------------------------------------------------------------------------------------------


def test_a_password_that_was_right_a_moment_ago(node: SecuredNode, user: str, source: str) -> None:
    """Checked passwords are remembered for a minute, but not beyond a change."""
    for _ in range(2):
        with node.kafka(source=source) as client:
            assert client.plain(user, user).error_code == ErrorCode.none
    with node.admin() as admin:
        for mechanism in (SHA_256, SHA_512):
            alter(admin, upsertion(user, mechanism, password="another"))
    with node.kafka(source=source) as client, node.push(source=source) as push:
        assert client.plain(user, user).error_code == ErrorCode.sasl_authentication_failed
        with pytest.raises(PushRefused):
            log_in(push, user, PLAIN, user)
    with node.kafka(source=source) as client:
        assert client.plain(user, "another").error_code == ErrorCode.none
