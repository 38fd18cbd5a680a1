"""Sessions with an end (KIP-368): logging in again on the connection, and what happens to a client that does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.broker_process import BrokerProcess
from tests.support.sasl_client import PLAIN, SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS, make_sasl_broker
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = pytest.mark.feature("F-20")

LIFETIME_MS = 3_000
ALICE = ("alice", USERS["alice"])


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One whose sessions end soon."""
    process = make_sasl_broker(tmp_path_factory.mktemp("short-sessions"), reauthentication_ms_max=LIFETIME_MS)
    process.prepare()
    process.start()
    yield process
    process.stop()


def begin_again(client: SaslClient, mechanism: str = SCRAM_256) -> None:
    """Begin a re-authentication as soon as that is allowed: within a second of the last one it is not."""
    wait_until(lambda: client.handshake(mechanism) == ErrorCode.none, what="a re-authentication may begin")


def test_the_last_answer_has_the_lifetime(client: SaslClient) -> None:
    assert client.scram(*ALICE).session_lifetime.total_seconds() * 1000 == LIFETIME_MS
    assert client.is_served()


def test_a_request_after_the_end_closes_the_connection(client: SaslClient) -> None:
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert client.is_served()

    def is_over() -> bool:
        try:
            return not client.is_served()
        except ConnectionClosed:
            return True

    wait_until(is_over, what="the session has ended")
    assert client.is_closed()


def test_a_login_after_the_end_is_taken(connect: Callable[[], SaslClient]) -> None:
    """The end is noticed with a request; SaslHandshake is the one that is still taken."""
    client, other = connect(), connect()
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert other.scram(*ALICE).error_code == ErrorCode.none

    def is_over() -> bool:
        try:
            return not other.is_served()
        except ConnectionClosed:
            return True

    wait_until(is_over, what="a session that began later has ended")
    for _ in range(2):
        begin_again(client)
        answer = client.exchange(*ALICE)
        assert answer.session_lifetime.total_seconds() * 1000 == LIFETIME_MS
        assert client.is_served()


def test_a_producer_that_logs_in_again_under_load_loses_nothing(client: SaslClient) -> None:
    """Requests before, during and after a re-authentication are sent without waiting, and answered in order."""
    assert client.plain(*ALICE).error_code == ErrorCode.none
    topic = client.create_topic()
    values = client.produce_values(topic, batches.batch([batches.Record(value=b"v")]))
    offsets: list[int] = []
    logins = 0

    def produced() -> int:
        answer = client.receive("produce", 9)[1].responses[0].partition_responses[0]
        assert answer.error_code == ErrorCode.none
        return int(answer.base_offset)

    def exchange() -> bool:
        nonlocal logins
        for _ in range(5):
            client.send("produce", 9, **values)
        client.send("sasl_handshake", 1, mechanism=PLAIN)
        client.send("sasl_authenticate", 2, auth_bytes=f"\0alice\0{USERS['alice']}".encode())
        for _ in range(5):
            client.send("produce", 9, **values)
        offsets.extend(produced() for _ in range(5))
        begun = client.receive("sasl_handshake", 1)[1].error_code
        assert begun in (ErrorCode.none, ErrorCode.illegal_sasl_state)  # the latter within a second of the last
        assert client.receive("sasl_authenticate", 2)[1].error_code == begun
        logins += begun == ErrorCode.none
        offsets.extend(produced() for _ in range(5))
        return bool(logins == 3)

    wait_until(exchange, what="three re-authentications have succeeded")
    assert offsets == list(range(len(offsets)))
    assert client.log_end(topic) == len(offsets)


def test_another_user_cannot_take_a_connection_over(client: SaslClient) -> None:
    assert client.scram(*ALICE).error_code == ErrorCode.none
    begin_again(client)
    answer = client.exchange("bob", USERS["bob"])
    assert answer.error_code == ErrorCode.sasl_authentication_failed
    assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert client.is_closed()


def test_a_wrong_password_ends_the_session(client: SaslClient) -> None:
    assert client.scram(*ALICE).error_code == ErrorCode.none
    begin_again(client)
    answer = client.exchange("alice", "wrong")
    assert answer.error_code == ErrorCode.sasl_authentication_failed
    assert "during re-authentication" in answer.error_message
    assert client.is_closed()


@pytest.mark.usefixtures("penstock_only")
def test_another_mechanism_is_refused(client: SaslClient) -> None:
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert client.handshake(SCRAM_512) == ErrorCode.none
    answer = client.authenticate(b"n,,n=alice,r=nonce")
    assert answer.error_code == ErrorCode.sasl_authentication_failed
    assert "is not supported for re-authentication" in answer.error_message
    assert client.is_closed()


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("api", ["list_groups", "api_versions"])
def test_requests_between_the_steps_end_the_connection(client: SaslClient, api: str) -> None:
    assert client.scram(*ALICE).error_code == ErrorCode.none
    assert client.handshake(SCRAM_256) == ErrorCode.none
    if api == "list_groups":
        client.send(api, 4)
    else:
        assert client.call(api, 0).error_code == ErrorCode.illegal_sasl_state
    assert client.is_closed()


def test_a_client_cannot_log_in_again_all_the_time(client: SaslClient) -> None:
    """As in Kafka once a second; the connection goes on."""
    assert client.scram(*ALICE).error_code == ErrorCode.none
    begin_again(client)
    assert client.exchange(*ALICE).error_code == ErrorCode.none
    assert client.handshake(SCRAM_256) == ErrorCode.illegal_sasl_state
    assert client.is_served()
