"""Logins that succeed, and the order of requests in which they do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode
from scramp import ScramClient

from tests.support.batches import Record, batch
from tests.support.sasl_client import PLAIN, SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS
from tests.support.wire import frame

pytestmark = pytest.mark.feature("F-04")

SOFTWARE = {"client_software_name": "sasl", "client_software_version": "1.0"}
ALICE = ("alice", USERS["alice"])


@pytest.mark.parametrize("mechanism", [SCRAM_256, SCRAM_512])
@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("user", sorted(USERS))
def test_scram(client: SaslClient, mechanism: str, version: int, user: str) -> None:
    answer = client.scram(user, USERS[user], mechanism, version)
    assert (answer.error_code, answer.error_message) == (ErrorCode.none, "")
    assert client.is_served()


@pytest.mark.parametrize("authorization_id", ["", "alice"])
def test_plain(client: SaslClient, authorization_id: str) -> None:
    answer = client.plain(*ALICE, authorization_id)
    assert (answer.error_code, answer.auth_bytes) == (ErrorCode.none, b"")
    assert int(answer.session_lifetime.total_seconds()) == 0
    assert client.is_served()


def test_a_password_that_was_right_is_right_again(connect: Callable[[], SaslClient]) -> None:
    """The second check of a password within a minute is one of its hash; another password is wrong all the same."""
    for _ in range(3):
        assert connect().plain("bob", USERS["bob"]).error_code == ErrorCode.none
    assert connect().plain("bob", USERS["alice"]).error_code == ErrorCode.sasl_authentication_failed


@pytest.mark.parametrize("version", range(5))
def test_versions_may_be_asked_for_first(client: SaslClient, version: int) -> None:
    assert client.call("api_versions", version, **SOFTWARE).error_code == ErrorCode.none
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert client.call("api_versions", version, **SOFTWARE).error_code == ErrorCode.none


def test_versions_from_the_future_may_be_tried_first(client: SaslClient) -> None:
    """A client that asks in a version that is not served is told so, and asks again in another."""
    client.send_bytes(frame(b"\0\x12\0\x63" + b"\0\0\0\1" + b"\xff\xff\0"))
    assert client.receive("api_versions", 0)[1].error_code == ErrorCode.unsupported_version
    wrong = {**SOFTWARE, "client_software_name": "!"}
    assert client.call("api_versions", 3, **wrong).error_code == ErrorCode.invalid_request
    assert client.call("api_versions", 3, **SOFTWARE).error_code == ErrorCode.none
    assert client.scram(*ALICE).error_code == ErrorCode.none


def test_the_handshake_lists_the_mechanisms_of_the_listener(client: SaslClient) -> None:
    answer = client.call("sasl_handshake", 1, mechanism=SCRAM_256)
    assert answer.error_code == ErrorCode.none
    assert sorted(answer.mechanisms) == [PLAIN, SCRAM_256, SCRAM_512]


def test_bare_messages_follow_the_oldest_handshake(client: SaslClient) -> None:
    """After SaslHandshake v0 messages have no Kafka header; after the login, requests do."""
    assert client.handshake(SCRAM_512, version=0) == ErrorCode.none
    scram = ScramClient([SCRAM_512], *ALICE)
    client.send_bytes(frame(scram.get_client_first().encode()))
    scram.set_server_first(client.receive_frame().decode())
    client.send_bytes(frame(scram.get_client_final().encode()))
    scram.set_server_final(client.receive_frame().decode())
    assert client.is_served()


def test_a_bare_password(client: SaslClient) -> None:
    assert client.handshake(PLAIN, version=0) == ErrorCode.none
    client.send_bytes(frame(f"\0alice\0{USERS['alice']}".encode()))
    assert client.receive_frame() == b""
    assert client.is_served()


def test_requests_that_come_with_the_login_wait_for_it(client: SaslClient) -> None:
    """All of it in one write: answered in order, and the request after the login with its session."""
    client.send("sasl_handshake", 1, mechanism=PLAIN)
    client.send("sasl_authenticate", 2, auth_bytes=f"\0alice\0{USERS['alice']}".encode())
    client.send("list_groups", 4)
    assert client.receive("sasl_handshake", 1)[1].error_code == ErrorCode.none
    assert client.receive("sasl_authenticate", 2)[1].error_code == ErrorCode.none
    assert client.receive("list_groups", 4)[1].error_code == ErrorCode.none


def test_the_principal_is_the_user(connect: Callable[[], SaslClient]) -> None:
    """Quotas go by the user: one of alice's slows her down, and nobody else."""
    alice, bob = connect(), connect()
    assert alice.scram(*ALICE).error_code == ErrorCode.none
    assert bob.scram("bob", USERS["bob"]).error_code == ErrorCode.none
    entity = [{"entity_type": "user", "entity_name": "alice"}]
    quota = {"key": "producer_byte_rate", "value": 1.0, "remove": False}
    topic = bob.create_topic()
    values = bob.produce_values(topic, batch([Record(value=b"x" * 4000)]), acks=1)
    assert bob.call("alter_client_quotas", 1, entries=[{"entity": entity, "ops": [quota]}]).entries[0].error_code == 0
    try:
        assert bob.call("produce", 9, **values).throttle_time.total_seconds() == 0
        assert alice.call("produce", 9, **values).throttle_time.total_seconds() > 0
    finally:
        gone = {"entity": entity, "ops": [{**quota, "remove": True}]}
        assert bob.call("alter_client_quotas", 1, entries=[gone]).entries[0].error_code == ErrorCode.none


def test_after_the_login_there_is_none(client: SaslClient) -> None:
    """Where sessions have no end, a client that has logged in cannot do so again; its connection goes on."""
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert client.handshake(SCRAM_256) == ErrorCode.illegal_sasl_state
    assert client.authenticate(b"").error_code == ErrorCode.illegal_sasl_state
    assert client.is_served()
