"""The login in the core of a push client: first of all on each connection, and again before the session ends."""

from __future__ import annotations

import math

import pytest

from penstock.client.push.calls import Call
from penstock.client.push.core import ClientCore
from penstock.client.push.errors import LoginFailed, NotConnected, WrongProtocol
from penstock.client.push.login import LIFETIME_SHARE, ClientLogin
from penstock.client.security.properties import ClientSecurity
from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as wire
from penstock.protocol.push.frames import Frame, FrameSplitter

PLAIN = ClientSecurity(protocol="SASL_SSL", mechanism="PLAIN", username="alice", password="secret")


class Rig:
    """A core that logs in, and the frames that it sends."""

    def __init__(self, security: ClientSecurity = PLAIN) -> None:
        self.login = ClientLogin(security)
        self.core = ClientCore(client_id="me", epoch=1, heartbeat_interval_s=30, login=self.login)
        self.logged_in = Call(lambda: None)
        self.core.await_login(self.logged_in)
        self.core.connected(0.0)

    def sent(self, now: float = 0.0) -> list[Frame]:
        return FrameSplitter().feed(self.core.data_to_send(now))

    def steps(self, now: float = 0.0) -> list[Frame]:
        frames = self.sent(now)
        assert all(isinstance(wire.decode(frame), wire.Authenticate) for frame in frames), frames
        return frames

    def answer(self, frame: Frame, value: wire.Payload, now: float = 0.0) -> None:
        self.core.received(wire.encode(value, frame.message_id), now)

    def refusal(self) -> Exception | None:
        return self.core.refusal


def test_requests_wait_for_the_login() -> None:
    rig, asked = Rig(), Call(lambda: None)
    rig.core.request(wire.CreateTopic("t", 1), asked)
    (step,) = rig.steps()
    assert wire.decode(step) == wire.Authenticate("PLAIN", b"\0alice\0secret")
    assert (rig.core.is_open, rig.logged_in.done) == (False, False)
    rig.answer(step, wire.AuthenticateAck(b""))
    assert (rig.core.is_open, rig.logged_in.done) == (True, True)
    (request,) = rig.sent()
    assert wire.decode(request) == wire.CreateTopic("t", 1)
    rig.answer(request, wire.CreateTopicAck(1, True))
    assert asked.result() == wire.CreateTopicAck(1, True)


def test_every_connection_begins_with_it() -> None:
    rig = Rig()
    (step,) = rig.steps()
    rig.answer(step, wire.AuthenticateAck(b""))
    rig.core.disconnected()
    assert not rig.core.is_open
    asked = Call(lambda: None)
    rig.core.request(wire.CreateTopic("t", 1), asked)
    rig.core.connected(1.0)
    (step,) = rig.steps(1.0)
    rig.answer(step, wire.AuthenticateAck(b""), 1.0)
    assert [wire.decode(frame) for frame in rig.sent(1.0)] == [wire.CreateTopic("t", 1)]


def test_a_session_with_an_end_is_renewed_while_requests_go_on() -> None:
    rig = Rig()
    (step,) = rig.steps()
    assert rig.login.again_at == math.inf
    rig.answer(step, wire.AuthenticateAck(b"", 10_000))
    due = 10 * LIFETIME_SHARE
    assert rig.core.due_in(0.0) == pytest.approx(due)
    assert rig.core.tick(due - 0.1)
    assert rig.sent(due - 0.1) == []
    assert rig.core.tick(due)
    (step,) = rig.steps(due)
    rig.core.request(wire.CreateTopic("t", 1), Call(lambda: None))
    assert [wire.decode(frame) for frame in rig.sent(due)] == [wire.CreateTopic("t", 1)]
    assert rig.core.tick(due + 1)
    assert rig.sent(due + 1) == [], "one login at a time"
    rig.answer(step, wire.AuthenticateAck(b"", 10_000), due + 1)
    assert rig.sent(due + 1) == [], "nothing is sent twice"
    assert rig.login.again_at == pytest.approx(due + 1 + due)


def test_a_refusal_fails_everything_that_waits() -> None:
    rig, asked = Rig(), Call(lambda: None)
    rig.core.request(wire.CreateTopic("t", 1), asked)
    (step,) = rig.steps()
    with pytest.raises(LoginFailed, match="no such luck") as failed:
        rig.answer(step, wire.Error(ErrorCode.SASL_AUTHENTICATION_FAILED, "no such luck"))
    rig.core.failed(failed.value, 2)
    for call in (rig.logged_in, asked):
        with pytest.raises(LoginFailed):
            call.result()
    assert not rig.core.has_heard, "the next attempt is not made at once"


def test_a_connection_that_ends_first_fails_the_login() -> None:
    rig = Rig()
    rig.core.disconnected()
    with pytest.raises(NotConnected, match=r"security\.protocol"):
        rig.logged_in.result()


@pytest.mark.parametrize("message", [b"", b"r=x,s=c2FsdA==,i=4096", b"\xff", b"v=nonsense", b"e=other-error"])
def test_a_broker_that_does_not_know_the_password_either(message: bytes) -> None:
    rig = Rig(ClientSecurity(protocol="SASL_SSL", mechanism="SCRAM-SHA-256", username="alice", password="secret"))
    (step,) = rig.steps()
    with pytest.raises(LoginFailed, match="broker's side of the login is wrong"):
        rig.answer(step, wire.AuthenticateAck(message))


def test_an_answer_to_another_request_is_no_login() -> None:
    rig = Rig()
    (step,) = rig.steps()
    with pytest.raises(LoginFailed):
        rig.answer(step, wire.CreateTopicAck(1, True))
    assert not rig.core.is_open


def test_the_last_refusal_is_kept_until_the_broker_lets_the_client_in_or_is_away() -> None:
    rig = Rig()
    (step,) = rig.steps()
    refused = wire.encode(wire.Error(ErrorCode.SASL_AUTHENTICATION_FAILED, "no"), step.message_id)
    with pytest.raises(LoginFailed) as failed:
        rig.core.received(refused, 0.0)
    rig.core.failed(failed.value, 2)
    rig.core.disconnected()
    rig.core.connected(1.0)
    assert rig.refusal() is failed.value
    (step,) = rig.steps(1.0)
    rig.answer(step, wire.AuthenticateAck(b""), 1.0)
    assert rig.refusal() is None

    suspected = WrongProtocol("perhaps it does not take the certificate")
    rig.core.disconnected()
    assert not rig.core.turned_away(suspected, 3)
    assert rig.refusal() is suspected
    rig.core.not_connected(NotConnected("no broker there"))
    assert rig.refusal() is None


def test_requests_outlive_a_connection_without_a_word_unless_it_was_the_first() -> None:
    suspected = WrongProtocol("perhaps it does not take the certificate")
    for was_heard in (False, True):
        rig, asked = Rig(), Call(lambda: None)
        if was_heard:
            (step,) = rig.steps()
            rig.answer(step, wire.AuthenticateAck(b""))
        rig.core.request(wire.CreateTopic("t", 1), asked)
        rig.core.disconnected()
        assert rig.core.turned_away(suspected, 2) is not was_heard
        assert asked.done is not was_heard
