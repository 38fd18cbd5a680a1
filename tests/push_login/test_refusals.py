"""Push clients that do not get in: frames before the login and between its steps, and logins that fail."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData
from penstock.protocol.push.frames import HEADER, FrameType
from tests.support.push_client import PushClient, PushRefused
from tests.support.push_login import MECHANISMS, PLAIN, SCRAM_256, SCRAM_512, PushLoginProcess, log_in, step
from tests.support.raw_client import unique_name

pytestmark = pytest.mark.feature("F-04", "P-07")

Connect = Callable[..., PushClient]
DELAY_S = 0.095  # 0.1, and what a timer of the loop may be early: it counts in milliseconds
FIRST = b"n,,n=alice,r=nonce"
FRAMES: dict[str, Any] = {
    "publish": m.Publish("", 0, -1, "t", 0, None, b"x"),
    "subscribe": m.Subscribe("", "t", "g"),
    "create-topic": m.CreateTopic("made-by-a-stranger", 1),
    "create-subscription": m.CreateSubscription("s", "t"),
    "delete-subscription": m.DeleteSubscription("s"),
    "unsubscribe": m.Unsubscribe("s"),
    "commit-offset": m.CommitOffset("s", 0, 0),
    "reset": m.Reset("s", 0, ()),
    "ready": m.Ready("s", 1),
    "ack": AckData("s", ()),
    "error": m.Error(1, "x"),
}


def neutral(mechanism: str) -> str:
    return "Authentication failed during authentication due to invalid credentials with SASL mechanism " + mechanism


@pytest.mark.parametrize("listener", ["PUSH", "BARE"])
@pytest.mark.parametrize("name", sorted(FRAMES))
def test_frames_before_the_login_end_the_connection(connect: Connect, listener: str, name: str) -> None:
    client = connect(listener)
    client.send(FRAMES[name])
    (told,) = client.ends()
    assert told.code == ErrorCode.ILLEGAL_SASL_STATE
    assert "before the client has logged in" in told.message


@pytest.mark.parametrize("name", sorted(FRAMES))
def test_frames_between_the_steps_end_the_connection(connect: Connect, name: str) -> None:
    client = connect()
    assert step(client, SCRAM_256, FIRST).message.startswith(b"r=nonce")
    client.send(FRAMES[name])
    (told,) = client.ends()
    assert told.code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_frame_in_the_same_write_as_a_wrong_password_is_not_served(
    broker: PushLoginProcess, connect: Connect
) -> None:
    client, topic = connect(), unique_name()
    client.socket.sendall(m.encode(m.Authenticate(PLAIN, b"\0carol\0wrong"), 1) + m.encode(m.CreateTopic(topic, 1), 2))
    (told,) = client.ends()
    assert told.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    with pytest.raises(PushRefused, match="there is no topic"):
        connect("OPEN").ask(m.CreateTopic(topic, 0))


@pytest.mark.parametrize("mechanism", [SCRAM_256, SCRAM_512])
def test_a_wrong_password_and_an_unknown_user_are_told_the_same(connect: Connect, mechanism: str) -> None:
    told = []
    for user in ("alice", unique_name("nobody")):
        client, start = connect(), time.monotonic()
        with pytest.raises(PushRefused) as refused:
            log_in(client, user, mechanism, "wrong")
        assert time.monotonic() - start >= DELAY_S
        told.append((refused.value.code, refused.value.message))
        assert client.ends() == []
    assert told == [(ErrorCode.SASL_AUTHENTICATION_FAILED, neutral(mechanism))] * 2


@pytest.mark.parametrize(
    "message",
    [b"", b"\0\0x", b"\0alice\0", b"bob\0alice\0alice-secret", b"\0alice\0ALICE-SECRET", b"\xff", b"x" * 9000],
)
def test_messages_of_plain_that_log_nobody_in(connect: Connect, message: bytes) -> None:
    client = connect()
    with pytest.raises(PushRefused) as refused:
        step(client, PLAIN, message)
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.ends() == []


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,n=,r=nonce",
        b"n,a=bob,n=alice,r=nonce",
        b"p=tls-unique,,n=a,r=n",
        "n,,n={},r=nonce".format("\ufdfa" * 330).encode(),
    ],
)
def test_messages_of_scram_that_log_nobody_in(connect: Connect, message: bytes) -> None:
    client = connect()
    with pytest.raises(PushRefused, match=neutral(SCRAM_256)):
        step(client, SCRAM_256, message)
    assert client.ends() == []


def test_a_message_that_is_repeated_logs_nobody_in(connect: Connect) -> None:
    client = connect()
    step(client, SCRAM_256, FIRST)
    with pytest.raises(PushRefused, match=neutral(SCRAM_256)):
        step(client, SCRAM_256, FIRST)
    assert client.ends() == []


def test_a_mechanism_that_is_not_offered_is_told_those_that_are(connect: Connect) -> None:
    client, start = connect(), time.monotonic()
    with pytest.raises(PushRefused) as refused:
        step(client, "GSSAPI", b"")
    assert time.monotonic() - start >= DELAY_S
    assert refused.value.code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert all(mechanism in refused.value.message for mechanism in MECHANISMS)
    assert client.ends() == []


def test_another_mechanism_in_the_middle_of_a_login_ends_it(connect: Connect) -> None:
    client = connect()
    step(client, SCRAM_256, FIRST)
    with pytest.raises(PushRefused) as refused:
        log_in(client, "alice", PLAIN)
    assert refused.value.code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ends() == []


def test_a_step_without_an_id_ends_the_connection(connect: Connect) -> None:
    client = connect()
    client.send(m.Authenticate(SCRAM_256, FIRST), 0)
    (told,) = client.ends()
    assert "cannot be answered" in told.message


def test_a_frame_before_the_login_is_small(connect: Connect) -> None:
    """It is refused by its header: nothing of it is kept."""
    client = connect()
    client.socket.sendall(HEADER.pack(FrameType.AUTHENTICATE, 1, 64 * 1024 + 1))
    (told,) = client.ends()
    assert "65536 (before the client has logged in)" in told.message


def test_plain_text_on_the_port_with_tls_gets_nowhere(broker: PushLoginProcess) -> None:
    with PushClient(broker.push_port) as client:
        client.send(m.Authenticate(PLAIN, b"\0alice\0alice-secret"))
        try:
            assert client.ends() == []
        except ConnectionResetError:
            pass


def test_a_client_that_trusts_another_authority_sends_no_password(broker: PushLoginProcess) -> None:
    with (
        socket.create_connection((broker.host, broker.push_port), timeout=20) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context().wrap_socket(plain, server_hostname=broker.host)


def test_attempts_at_both_doors_wait_for_each_other(broker: PushLoginProcess, connect: Connect) -> None:
    """Failures of a user are counted wherever they happen: the fifth one waits for more than half a second."""
    user = unique_name("guessed")
    for _ in range(4):
        with pytest.raises(PushRefused):
            log_in(connect("BARE"), user, PLAIN, "wrong")
    start = time.monotonic()
    with pytest.raises(PushRefused):
        log_in(connect("PUSH"), user, PLAIN, "wrong")
    assert time.monotonic() - start >= 0.5
