"""Logins that fail: one answer that says nothing about users, after a delay, and a closed connection."""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from scramp import ScramClient

from penstock.protocol.push.messages import CreateTopic
from tests.fuzz.samples import request
from tests.gate.world import versions
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import target_kind
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.raw_client import unique_name
from tests.support.sasl_client import PLAIN, SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS
from tests.support.waiting import wait_until
from tests.support.wire import frame

pytestmark = pytest.mark.feature("F-04")

FAILED = ErrorCode.sasl_authentication_failed
ALICE = ("alice", USERS["alice"])
DELAY_S = 0.095  # 0.1, and what a timer of the loop may be early: it counts in milliseconds
TOKENS = "Invalid SASL/PLAIN response: expected 3 tokens, got "
OURS = pytest.mark.skipif(target_kind() != "penstock", reason="Kafka is laxer here, or tells users from others")
Connect = Callable[[], SaslClient]


def neutral(mechanism: str) -> str:
    return "Authentication failed during authentication due to invalid credentials with SASL mechanism " + mechanism


@OURS
@pytest.mark.parametrize("mechanism", [SCRAM_256, SCRAM_512])
def test_a_wrong_password_and_an_unknown_user_are_told_the_same(connect: Connect, mechanism: str) -> None:
    told = []
    for user in ("alice", unique_name("nobody")):
        client, start = connect(), time.monotonic()
        answer = client.scram(user, "wrong", mechanism)
        assert time.monotonic() - start >= DELAY_S
        told.append((answer.error_code, answer.error_message, answer.auth_bytes))
        assert client.is_closed()
    assert told == [(FAILED, neutral(mechanism), b"")] * 2


@OURS
def test_an_unknown_user_is_sent_the_same_salt_whenever_it_asks(connect: Connect) -> None:
    nobody = unique_name("nobody")

    def asked(name: str) -> tuple[str, str, int]:
        client = connect()
        assert client.handshake(SCRAM_256) == ErrorCode.none
        first = client.authenticate(f"n,,n={name},r=nonce".encode()).auth_bytes.decode()
        nonce, salt, iterations = (part[2:] for part in first.split(",", 2))
        assert nonce.startswith("nonce")
        assert nonce != "nonce"
        return salt, iterations, len(nonce)

    assert asked(nobody)[:2] == asked(nobody)[:2]
    assert asked(nobody)[0] != asked(unique_name("nobody"))[0]
    known, unknown = asked("alice"), asked(nobody)
    assert (len(known[0]), *known[1:]) == (len(unknown[0]), *unknown[1:])


def test_plain_says_the_same_of_a_wrong_password_and_an_unknown_user(connect: Connect) -> None:
    told = []
    for user in ("alice", unique_name("nobody")):
        client, start = connect(), time.monotonic()
        answer = client.plain(user, "wrong")
        assert time.monotonic() - start >= DELAY_S
        told.append((answer.error_code, answer.error_message))
        assert client.is_closed()
    assert told == [(FAILED, "Authentication failed: Invalid username or password")] * 2


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0\0", "Authentication failed: username not specified"),
        (
            b"bob\0alice\0alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"alice\0alice-secret", TOKENS + "2"),
        (b"\0alice\0alice-secret\0", TOKENS + "4"),
        (b"\0alice\0alice\0secret", TOKENS + "4"),
        (b"\0\0alice\0alice-secret", TOKENS + "4"),
        (b"\0\0\0\0\0\0\0", TOKENS + "4"),
        (b"", TOKENS + "1"),
        (b"\0alice\0\xff\xfe", "Authentication failed: Invalid username or password"),
        (b"\0alice\0" + b"x" * 9000, "Authentication failed: Invalid username or password"),
        (b"\0alice\0ALICE-SECRET", "Authentication failed: Invalid username or password"),
        (b"\0Alice\0alice-secret", "Authentication failed: Invalid username or password"),
        (b"\0alice\0alice-secret ", "Authentication failed: Invalid username or password"),
    ],
)
def test_messages_of_plain_that_log_nobody_in(connect: Connect, token: bytes, told: str) -> None:
    client = connect()
    assert client.handshake(PLAIN) == ErrorCode.none
    answer = client.authenticate(token)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (FAILED, told, b"")
    assert client.is_closed()


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,",
        b"n,,n=alice",
        b"n,,r=nonce,n=alice",
        b"n,,n=,r=nonce",
        b"n,,n=alice,r=",
        b"n,,n=al=ice,r=nonce",
        pytest.param(b"n,a=bob,n=alice,r=nonce", marks=OURS),
        pytest.param(b"n,a=alice,n=alice,r=nonce", marks=OURS),
        b"p=tls-unique,,n=alice,r=nonce",
        b"p=tls-server-end-point,,n=alice,r=nonce",
        b"x,,n=alice,r=nonce",
        pytest.param(b"n,,m=ext,n=alice,r=nonce", marks=OURS),
        b"n,,n=alice,n=bob,r=nonce",
        b"n,,n=alice,r=nonce,tokenauth=true",
        b"n,,n=a\0lice,r=nonce",
        b"n,,n=\xff,r=nonce",
        pytest.param(b"n,,n=" + b"x" * 3000 + b",r=nonce", marks=OURS),
        pytest.param(b"n,,n=" + b"x" * 256 + b",r=nonce", marks=OURS),
        pytest.param("n,,n={},r=nonce".format("\ufdfa" * 330).encode(), marks=OURS),
        bytes(range(256)),
    ],
)
def test_first_messages_of_scram_that_are_refused(connect: Connect, first: bytes) -> None:
    client = connect()
    assert client.handshake(SCRAM_256) == ErrorCode.none
    answer = client.authenticate(first)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (FAILED, neutral(SCRAM_256), b"")
    assert client.is_closed()


@pytest.mark.parametrize("flag", ["n", pytest.param("y", marks=OURS)])
def test_clients_without_channel_binding_log_in(connect: Connect, flag: str) -> None:
    """`y` is a client that could bind and knows that the broker cannot."""
    client, scram = connect(), ScramClient([SCRAM_256], *ALICE)
    assert client.handshake(SCRAM_256) == ErrorCode.none
    scram.get_client_first()
    scram.gs2_header.gs2_char = flag
    answer = client.authenticate(f"{flag},,{scram.client_first_bare}".encode())
    scram.set_server_first(answer.auth_bytes.decode())
    assert client.authenticate(scram.get_client_final().encode()).error_code == ErrorCode.none
    assert client.is_served()


def final(change: str) -> Callable[[ScramClient], str]:
    """A last message with the right proof, changed afterwards."""

    def changed(scram: ScramClient) -> str:
        binding, nonce, proof = str(scram.get_client_final()).split(",", 2)
        return {
            "nonce": f"{binding},{nonce}x,{proof}",
            "shorter nonce": f"{binding},{nonce[:-1]},{proof}",
            "client's nonce alone": f"{binding},r={scram.c_nonce},{proof}",
            "binding": f"c={base64.b64encode(b'y,,').decode()},{nonce},{proof}",
            "binding of a name": f"c={base64.b64encode(b'n,a=bob,').decode()},{nonce},{proof}",
            "no proof": f"{binding},{nonce}",
            "empty proof": f"{binding},{nonce},p=",
            "short proof": f"{binding},{nonce},p=AAAA",
            "proof of nothing": f"{binding},{nonce},p={base64.b64encode(bytes(32)).decode()}",
            "proof twice": f"{binding},{nonce},{proof},{proof}",
            "extension": f"{binding},{nonce},m=x,{proof}",
            "first message again": str(scram.gs2_header) + str(scram.client_first_bare),
            "nothing": "",
        }[change]

    return changed


@pytest.mark.parametrize(
    "change",
    [
        "nonce", "shorter nonce", "client's nonce alone", "binding", "binding of a name", "no proof",
        "proof of nothing", "first message again", "nothing",
        *(pytest.param(each, marks=OURS) for each in ("empty proof", "short proof", "proof twice", "extension")),
    ],
)  # fmt: skip
def test_last_messages_of_scram_that_are_refused(connect: Connect, change: str) -> None:
    client, user = connect(), "bob"
    scram = ScramClient([SCRAM_256], user, USERS[user])
    assert client.handshake(SCRAM_256) == ErrorCode.none
    answer = client.authenticate(scram.get_client_first().encode())
    scram.set_server_first(answer.auth_bytes.decode())
    answer = client.authenticate(final(change)(scram).encode())
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (FAILED, neutral(SCRAM_256), b"")
    assert client.is_closed()
    assert connect().scram(user, USERS[user]).error_code == ErrorCode.none


def test_the_messages_of_another_login_are_worth_nothing(connect: Connect) -> None:
    """A listener who has recorded a login cannot log in with it: the broker's nonce is another."""
    scram, first = ScramClient([SCRAM_256], *ALICE, c_nonce="heard"), "n,,n=alice,r=heard"
    heard = connect()
    assert heard.handshake(SCRAM_256) == ErrorCode.none
    assert scram.get_client_first() == first
    scram.set_server_first(heard.authenticate(first.encode()).auth_bytes.decode())
    last = scram.get_client_final().encode()
    assert heard.authenticate(last).error_code == ErrorCode.none
    thief = connect()
    assert thief.handshake(SCRAM_256) == ErrorCode.none
    assert thief.authenticate(first.encode()).error_code == ErrorCode.none
    assert thief.authenticate(last).error_code == FAILED
    assert thief.is_closed()


@pytest.mark.parametrize(
    "mechanism", ["GSSAPI", "OAUTHBEARER", "scram-sha-256", "SCRAM-SHA-256-PLUS", "SCRAM-SHA-1", ""]
)
@pytest.mark.parametrize("version", [0, 1])
def test_an_unknown_mechanism_gets_the_list(client: SaslClient, mechanism: str, version: int) -> None:
    start = time.monotonic()
    answer = client.call("sasl_handshake", version, mechanism=mechanism)
    assert answer.error_code == ErrorCode.unsupported_sasl_mechanism
    assert sorted(answer.mechanisms) == [PLAIN, SCRAM_256, SCRAM_512]
    assert time.monotonic() - start >= DELAY_S
    assert client.is_closed()


REQUESTS: dict[str, dict[str, Any]] = {
    "metadata": {"topics": None},
    "list_groups": {},
    "create_topics": {"topics": [{"name": "stolen", "num_partitions": 1, "replication_factor": 1}]},
    "describe_user_scram_credentials": {"users": None},
    "find_coordinator": {"coordinator_keys": ["g"], "key": "g"},
    "sasl_authenticate": {"auth_bytes": b"\0alice\0alice-secret"},
}


@pytest.mark.parametrize("api", sorted(REQUESTS))
def test_requests_before_the_login_end_the_connection(connect: Connect, api: str) -> None:
    version = 12 if api == "metadata" else 0
    version = {"create_topics": 7, "list_groups": 4, "find_coordinator": 4}.get(api, version)
    for prepare in (lambda _: None, lambda client: client.call("api_versions", 0)):
        client = connect()
        prepare(client)
        client.send(api, version, **REQUESTS[api])
        assert client.is_closed()


def test_no_api_is_served_before_the_login(connect: Connect) -> None:
    """Every API of the table but the login's own, in one version: the connection ends."""
    own = {"api_versions", "sasl_handshake"}
    asked = {api: version for api, version in versions().items() if api not in own}
    assert len(asked) > 50
    served = []
    for api, version in asked.items():
        client = connect()
        client.send_bytes(frame(request(api, version)))
        if not client.is_closed():
            served.append(api)
    assert served == []


@OURS
def test_a_frame_before_the_login_has_512_kib_at_most(client: SaslClient) -> None:
    client.send_bytes((512 * 1024 + 1).to_bytes(4, "big"))
    assert client.is_closed()


def test_versions_are_asked_for_once(client: SaslClient) -> None:
    assert client.call("api_versions", 0).error_code == ErrorCode.none
    client.send("api_versions", 0)
    assert client.is_closed()


@OURS
@pytest.mark.parametrize("api", sorted(REQUESTS.keys() - {"sasl_authenticate"}))
def test_requests_between_the_steps_end_the_connection(connect: Connect, api: str) -> None:
    version = {"metadata": 12, "create_topics": 7, "list_groups": 4, "find_coordinator": 4}.get(api, 0)
    for has_begun in (False, True):
        client = connect()
        assert client.handshake(SCRAM_256) == ErrorCode.none
        if has_begun:
            assert client.authenticate(b"n,,n=alice,r=nonce").error_code == ErrorCode.none
        client.send(api, version, **REQUESTS[api])
        assert client.is_closed()


@pytest.mark.parametrize("api", ["sasl_handshake", "api_versions"])
def test_a_second_beginning_is_told_that_it_is_out_of_turn(client: SaslClient, api: str) -> None:
    assert client.handshake(SCRAM_256) == ErrorCode.none
    assert client.authenticate(b"n,,n=alice,r=nonce").error_code == ErrorCode.none
    answer = client.call(api, 0, mechanism=PLAIN)
    assert answer.error_code == ErrorCode.illegal_sasl_state
    assert client.is_closed()


def test_nothing_behind_a_refusal_is_served(client: SaslClient) -> None:
    """Requests in the same write as the wrong password are never looked at."""
    topic = unique_name()
    client.send("sasl_handshake", 1, mechanism=PLAIN)
    client.send("sasl_authenticate", 2, auth_bytes=b"\0carol\0wrong")
    client.send("create_topics", 7, topics=[{"name": topic, "num_partitions": 1, "replication_factor": 1}])
    client.send("sasl_handshake", 1, mechanism=PLAIN)
    assert client.receive("sasl_handshake", 1)[1].error_code == ErrorCode.none
    assert client.receive("sasl_authenticate", 2)[1].error_code == FAILED
    assert client.is_closed()


@OURS
def test_bare_messages_that_fail_close_the_connection_without_an_answer(connect: Connect) -> None:
    for mechanism, token in ((PLAIN, b"\0dave\0wrong"), (SCRAM_256, b"n,,n="), (PLAIN, b"")):
        client, start = connect(), time.monotonic()
        assert client.handshake(mechanism, version=0) == ErrorCode.none
        client.send_bytes(frame(token))
        assert client.is_closed()
        assert time.monotonic() - start >= DELAY_S


@pytest.mark.parametrize(
    "prefix", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"\x60\x48\x06\x06"]
)
def test_other_protocols_end_the_connection(client: SaslClient, prefix: bytes) -> None:
    client.send_bytes(prefix + bytes(64))
    assert client.is_closed()


@OURS
def test_push_clients_find_no_way_around_the_login(broker: BrokerProcess) -> None:
    """The Kafka port recognises push clients by their first bytes, and they have to log in as Kafka clients do."""
    with PushClient(broker.port) as push:
        push.send(CreateTopic(topic=unique_name(), partitions=1))
        (told,) = push.ends()
        assert told.code == ErrorCode.illegal_sasl_state


@OURS
def test_the_audit_log_has_logins_and_failures_and_no_secret(connect: Connect, broker: BrokerProcess) -> None:
    password = unique_name("password")
    nobody = unique_name("nobody")
    assert connect().plain(nobody, password).error_code == FAILED
    assert connect().scram(nobody, password).error_code == FAILED
    assert connect().scram(*ALICE).error_code == ErrorCode.none

    def lines() -> list[dict[str, object]]:
        parsed = [json.loads(line) for line in broker.log_file.read_text().splitlines()]
        return [line for line in parsed if line.get("module") == "penstock.audit"]

    def of_nobody() -> list[dict[str, object]]:
        return [line for line in lines() if line.get("user") == nobody]

    wait_until(lambda: len(of_nobody()) == 2, what="both failures are logged")
    assert {line["message"] for line in of_nobody()} == {"login failed"}
    assert [line["mechanism"] for line in of_nobody()] == [PLAIN, SCRAM_256]
    assert isinstance(broker, PenstockProcess)
    page = urllib.request.urlopen(f"http://{broker.host}:{broker.http_port}/metrics").read().decode()
    counted = {line.split()[0]: float(line.split()[1]) for line in page.splitlines() if "penstock_login" in line[:16]}
    assert counted["penstock_login_failures_total"] >= 2
    assert counted["penstock_logins_total"] >= 1
    wait_until(
        lambda: any(line["message"] == "login" and line["principal"] == "User:alice" for line in lines()),
        what="the login is logged",
    )
    log = broker.log_file.read_text()
    assert password not in log
    assert all(secret not in log for secret in USERS.values())
