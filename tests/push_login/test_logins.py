"""Push clients that log in, on the push port and behind Kafka's, and what each of them may do then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Data
from tests.support.acl_client import GROUP, READ, TOPIC, AclClient, matching, rule
from tests.support.push_client import PushClient, PushRefused
from tests.support.push_login import MECHANISMS, PLAIN, SCRAM_256, SHORT_SESSION_MS, USERS, PushLoginProcess, log_in
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04", "P-07")

Connect = Callable[..., PushClient]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", ["PUSH", "LOGIN", "BARE"])
def test_a_client_logs_in_publishes_and_reads(connect: Connect, listener: str, mechanism: str) -> None:
    client, topic = connect(listener), unique_name()
    assert log_in(client, "alice", mechanism).lifetime_ms == 0
    client.ask(m.CreateTopic(topic, 1))
    assert client.publish(topic, b"a", b"b") == [0, 1]
    client.ask(m.Subscribe("", topic, f"{topic}-group"))
    assert [item.body for item in client.items(2)] == [b"a", b"b"]


def test_heartbeats_may_come_before_and_between_the_steps(connect: Connect) -> None:
    client = connect()
    client.send(m.Heartbeat(), 0)
    assert log_in(client, "alice").lifetime_ms == 0
    client.ask(m.CreateTopic(unique_name(), 1))


def test_a_certificate_is_a_login_behind_the_port_of_kafka(connect: Connect) -> None:
    topic = unique_name()
    connect("MUTUAL", "alice").ask(m.CreateTopic(topic, 1))
    with pytest.raises(PushRefused) as refused:
        connect("MUTUAL", "eve").publish(topic, b"x")
    assert refused.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rights_are_those_of_the_user(connect: Connect) -> None:
    alice, bob, topic = connect(), connect(), unique_name()
    log_in(alice, "alice")
    log_in(bob, "bob")
    alice.ask(m.CreateTopic(topic, 1))
    for request, code in (
        (m.CreateTopic(unique_name(), 1), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (m.Publish("", 0, -1, topic, 0, None, b"x"), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (m.Subscribe("", topic, "bobs"), ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ):
        with pytest.raises(PushRefused) as refused:
            bob.ask(request)
        assert refused.value.code == code
    assert alice.publish(topic, b"x") == [0]


def test_a_member_whose_right_is_taken_away_is_sent_nothing_more(broker: PushLoginProcess, connect: Connect) -> None:
    bob, topic = connect(), unique_name()
    with RawClient(broker.host, broker.port) as administrator:
        acls = AclClient(administrator)
        connect("OPEN").ask(m.CreateTopic(topic, 1))
        acls.created(
            rule(kind=TOPIC, name=topic, principal="User:bob", operation=READ),
            rule(kind=GROUP, name=topic, principal="User:bob", operation=READ),
        )
        log_in(bob, "bob")
        bob.ask(m.Subscribe("", topic, topic))
        connect("OPEN").publish(topic, b"before")
        assert [item.body for item in bob.items(1)] == [b"before"]
        acls.delete(matching(name=topic, kind=TOPIC))
    connect("OPEN").publish(topic, b"after")
    (told,) = bob.ends()
    assert told.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_a_login_where_none_is_asked_for_is_told_so(connect: Connect) -> None:
    client = connect("OPEN")
    with pytest.raises(PushRefused, match="asks for no login") as refused:
        client.ask(m.Authenticate(PLAIN, f"\0alice\0{USERS['alice']}".encode()))
    assert refused.value.code == ErrorCode.ILLEGAL_SASL_STATE
    client.ask(m.CreateTopic(unique_name(), 1))


def test_large_frames_are_taken_after_the_login(connect: Connect) -> None:
    client, topic = connect(), unique_name()
    log_in(client, "alice")
    client.ask(m.CreateTopic(topic, 1))
    assert client.publish(topic, bytes(900_000)) == [0]


# --- sessions with an end --------------------------------------------------------------------------------------------


def test_a_session_ends_for_a_client_that_is_only_sent_messages(connect: Connect) -> None:
    client, topic = connect("SHORT"), unique_name()
    assert log_in(client, "alice").lifetime_ms == SHORT_SESSION_MS
    client.ask(m.CreateTopic(topic, 1))
    client.ask(m.Subscribe("", topic, f"{topic}-group"))
    (last,) = client.ends()
    assert last == m.Disconnect("the session has ended; connect and log in again")


def begin_again(client: PushClient, user: str, mechanism: str = SCRAM_256) -> m.AuthenticateAck:
    """Log in again as soon as that is allowed: within a second of the last time it is not."""

    def attempt() -> m.AuthenticateAck | None:
        try:
            return log_in(client, user, mechanism)
        except PushRefused as refused:
            if refused.code != ErrorCode.ILLEGAL_SASL_STATE:
                raise
            return None

    answer = wait_until(attempt, what="the client may log in again")
    assert answer is not None
    return answer


def test_a_client_that_logs_in_again_stays_and_goes_on(connect: Connect) -> None:
    """Its messages are sent and served meanwhile; in the end it has lived for longer than a session."""
    client, other, topic = connect("SHORT"), connect("SHORT"), unique_name()
    log_in(client, "alice")
    log_in(other, "alice")
    client.ask(m.CreateTopic(topic, 1))
    client.ask(m.Subscribe("", topic, f"{topic}-group"))
    bodies: list[bytes | None] = []
    is_over = False
    while not is_over:
        assert begin_again(client, "alice").lifetime_ms == SHORT_SESSION_MS
        offset = client.publish(topic, b"%d" % len(bodies))[0]
        assert offset == len(bodies)
        bodies += [item.body for item in client.items(1)]
        is_over = is_closed(other)
    assert bodies == [b"%d" % number for number in range(len(bodies))]


def is_closed(client: PushClient) -> bool:
    try:
        assert isinstance(client.receive(0.01), m.Disconnect | Data)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_another_user_at_the_second_login_ends_the_connection(connect: Connect) -> None:
    client = connect("SHORT")
    log_in(client, "alice")
    with pytest.raises(PushRefused, match=r"Cannot change principals .* from User\.alice: User\.bob") as refused:
        begin_again(client, "bob")
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.ends() == []


def test_another_mechanism_at_the_second_login_ends_the_connection(connect: Connect) -> None:
    client = connect("SHORT")
    log_in(client, "alice")
    with pytest.raises(PushRefused, match="not supported for re-authentication"):
        begin_again(client, "alice", PLAIN)
    assert client.ends() == []


def test_a_session_without_an_end_is_not_renewed(connect: Connect) -> None:
    client = connect()
    log_in(client, "alice")
    with pytest.raises(PushRefused, match="nothing to renew") as refused:
        log_in(client, "alice")
    assert refused.value.code == ErrorCode.ILLEGAL_SASL_STATE
    client.ask(m.CreateTopic(unique_name(), 1))


def test_what_a_login_leaves_in_the_log(broker: PushLoginProcess, connect: Connect) -> None:
    log_in(connect(), "alice", PLAIN)
    with pytest.raises(PushRefused):
        log_in(connect(), "alice", PLAIN, "a wrong guess")
    log = broker.log_file.read_text()
    assert "alice-secret" not in log
    assert "a wrong guess" not in log
