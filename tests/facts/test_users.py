"""Users as they are made, changed and described; how they log in is in `tests/sasl`."""

import json

import pytest
from kio.schema.errors import ErrorCode

from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import SHA_256, SHA_512, alter, deletion, describe, upsertion
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04")


@pytest.fixture
def user() -> str:
    return unique_name("user")


def test_make_change_and_remove(client: RawClient, user: str) -> None:
    """A user has a credential for each mechanism, and is gone with the last one."""
    done = {user: ErrorCode.none}
    assert alter(client, upsertion(user)) == done
    assert alter(client, upsertion(user, SHA_512, iterations=8192)) == done
    wait_until(lambda: describe(client, user) == {user: {SHA_256: 4096, SHA_512: 8192}}, what="both are there")
    assert alter(client, upsertion(user, iterations=16_384)) == done
    wait_until(lambda: describe(client, user) == {user: {SHA_256: 16_384, SHA_512: 8192}}, what="one is changed")
    assert alter(client, deletion(user)) == done
    assert alter(client, deletion(user)) == {user: ErrorCode.resource_not_found}
    assert alter(client, deletion(user, SHA_512)) == done
    wait_until(lambda: describe(client, user) == {user: ErrorCode.resource_not_found}, what="the user is gone")


@pytest.mark.parametrize("iterations", [-1, 0, 1, 4095, 16_385, 1_000_000_000])
def test_iterations_out_of_bounds_are_refused(client: RawClient, user: str, iterations: int) -> None:
    assert alter(client, upsertion(user, iterations=iterations)) == {user: ErrorCode.unacceptable_credential}
    assert describe(client, user) == {user: ErrorCode.resource_not_found}


def test_an_unknown_mechanism_is_refused(client: RawClient, user: str) -> None:
    for mechanism in (-1, 0, 3, 127):
        assert alter(client, upsertion(user, mechanism)) == {user: ErrorCode.unsupported_sasl_mechanism}
        assert alter(client, deletion(user, mechanism)) == {user: ErrorCode.unsupported_sasl_mechanism}


def test_a_user_is_altered_once_in_a_request(client: RawClient, user: str) -> None:
    """The others of the request are altered all the same."""
    other = unique_name("user")
    twice = {user: ErrorCode.duplicate_resource, other: ErrorCode.none}
    assert alter(client, upsertion(user), upsertion(other), upsertion(user, SHA_512)) == twice
    wait_until(lambda: describe(client, other) == {other: {SHA_256: 4096}}, what="the other is there")
    assert describe(client, user) == {user: ErrorCode.resource_not_found}
    assert alter(client, deletion(other)) == {other: ErrorCode.none}


def test_a_name_is_described_once_in_a_request(client: RawClient, user: str) -> None:
    assert describe(client, user, user) == {user: ErrorCode.duplicate_resource}


def test_no_names_are_all_users(client: RawClient, user: str) -> None:
    assert alter(client, upsertion(user)) == {user: ErrorCode.none}
    wait_until(lambda: describe(client).get(user) == {SHA_256: 4096}, what="the user is listed")
    assert alter(client, deletion(user)) == {user: ErrorCode.none}
    wait_until(lambda: user not in describe(client), what="the user is no longer listed")


@pytest.mark.parametrize("name", ["", "a\0b", "tab\there", "soft\u00adhyphen", "ﬁ", "\ue000", "n" * 256])
@pytest.mark.usefixtures("penstock_only")
def test_names_that_could_not_log_in_are_refused(client: RawClient, name: str) -> None:
    assert alter(client, upsertion(name)) == {name: ErrorCode.unacceptable_credential}


@pytest.mark.parametrize("salt_bytes", [0, 256])
@pytest.mark.usefixtures("penstock_only")
def test_salts_that_could_not_be_used_are_refused(client: RawClient, user: str, salt_bytes: int) -> None:
    assert alter(client, upsertion(user, salt=b"s" * salt_bytes)) == {user: ErrorCode.unacceptable_credential}


def test_requests_of_a_login_have_no_place_without_sasl(client: RawClient) -> None:
    """ILLEGAL_SASL_STATE, and the connection goes on."""
    for version in (0, 1):
        answer = client.call("sasl_handshake", version, mechanism="PLAIN")
        assert (answer.error_code, answer.mechanisms) == (ErrorCode.illegal_sasl_state, ())
    for version in (0, 1, 2):
        answer = client.call("sasl_authenticate", version, auth_bytes=b"\0alice\0secret")
        assert (answer.error_code, answer.auth_bytes) == (ErrorCode.illegal_sasl_state, b"")
    assert client.call("api_versions", 2).error_code == ErrorCode.none


@pytest.mark.usefixtures("penstock_only")
def test_changes_of_users_are_in_the_audit_log(client: RawClient, broker: BrokerProcess, user: str) -> None:
    """With the name and the mechanism of those that were made; refused ones are not there."""
    alter(client, upsertion(user), upsertion(unique_name("refused"), iterations=1))
    alter(client, deletion(user))

    def changes() -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in broker.log_file.read_text().splitlines() if '"changed"' in line]
        return [(line["act"], line["what"]) for line in lines if user in line["what"] or "refused" in line["what"]]

    wait_until(lambda: len(changes()) >= 2, what="both changes are logged")
    assert changes() == [("set credential", f"{user} SCRAM-SHA-256"), ("remove credential", f"{user} SCRAM-SHA-256")]


@pytest.mark.crash
def test_users_survive_a_kill(own_broker: BrokerProcess, user: str) -> None:
    if not own_broker.is_durable:
        pytest.skip("data in memory does not survive")
    gone = unique_name("user")
    with RawClient(own_broker.host, own_broker.port) as client:
        assert alter(client, upsertion(user, iterations=5000), upsertion(gone)) == dict.fromkeys(
            (user, gone), ErrorCode.none
        )
        assert alter(client, deletion(gone)) == {gone: ErrorCode.none}
    own_broker.kill9()
    own_broker.start()
    with RawClient(own_broker.host, own_broker.port) as client:
        wait_until(lambda: describe(client) == {user: {SHA_256: 5000}}, what="the user is there, the other is not")
