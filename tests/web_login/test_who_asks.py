"""Passwords and certificates at the HTTP port of a real broker: who is let in, as whom, and what others are told."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, upsertion
from tests.web_login.conftest import Connect
from tests.web_login.secured import WebAnswer, WebClient, WebProcess, basic, basic_bytes, login_of

pytestmark = pytest.mark.feature("K-16")

DELAY_S = 0.095  # 0.1, and what a timer of the loop may be early: it counts in milliseconds
WRONG = "the user name or the password is wrong"


def test_a_request_without_a_login_is_told_how_to_log_in(connect: Connect) -> None:
    for path in ("/metrics", "/api/v1/topics", "/pipe/status", "/push/subscriptions", "/nothing", "/api/v1/docs"):
        client = connect()
        answer = client.ask(path)
        assert answer.status == 401
        assert "Basic" in answer.detail
        assert 'Basic realm="penstock"' in ", ".join(answer.headers.get_all("www-authenticate", []))
        assert not client.is_open


def test_probes_need_no_login_and_see_the_status_only(client: WebClient) -> None:
    assert client.ask("/health/live").json == {"status": "live"}
    assert not client.is_open  # strangers keep no place
    assert client.ask("/health/ready").json == {"status": "ready"}
    assert client.ask("/health/ready", login_of("bob")).json == {"status": "ready"}
    assert "phase" in client.ask("/health/ready", login_of("admin")).json


def test_a_user_has_its_own_rights(client: WebClient) -> None:
    own, foreign = unique_name("bob"), unique_name("foreign")
    admin, bob, alice = login_of("admin"), login_of("bob"), login_of("alice")
    assert client.ask("/api/v1/topics", bob, method="POST", body={"name": own}).status == 201
    assert client.ask("/api/v1/topics", bob, method="POST", body={"name": foreign}).status == 403
    assert client.ask("/api/v1/topics", admin, method="POST", body={"name": foreign}).status == 201
    assert own not in topics(client.ask("/api/v1/topics", alice))
    assert own in topics(client.ask("/api/v1/topics", bob))
    assert foreign not in topics(client.ask("/api/v1/topics", bob))
    assert {own, foreign} <= topics(client.ask("/api/v1/topics", admin))
    assert [client.ask("/metrics", login).status for login in (admin, bob)] == [200, 403]
    assert [client.ask("/pipe/status", login).status for login in (admin, bob)] == [200, 403]
    assert client.ask("/nothing", bob).status == 404
    assert client.is_open


def topics(answer: WebAnswer) -> set[str]:
    assert answer.status == 200, answer
    return {topic["name"] for topic in answer.json["topics"]}


def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(connect: Connect) -> None:
    told = []
    for user in ("alice", unique_name("nobody")):
        client, start = connect(), time.monotonic()
        answer = client.ask("/api/v1/topics", basic(user, "wrong"))
        assert time.monotonic() - start >= DELAY_S
        told.append((answer.status, answer.detail, sorted(answer.headers.keys())))
        assert not client.is_open
    assert told[0] == told[1]
    assert told[0][:2] == (401, WRONG)


@pytest.mark.parametrize(
    "login",
    [
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic YQ",
        basic_bytes(b""),
        basic_bytes(b":"),
        basic_bytes(b"alice"),
        basic_bytes(b"alice:"),
        basic_bytes(b":secret"),
        basic_bytes(b"alice\0:alice:secret"),
        basic_bytes(b"alice:alice\0alice:secret \xc3\xa9"),
        basic_bytes(b"\0alice:secret"),
        basic_bytes(b"\xff\xfe:\xff"),
        basic_bytes(b"alice:" + b"x" * 9_000),
        basic_bytes(b"User:bob:bob-secret"),
        basic_bytes(b"BOB:bob-secret"),
        basic_bytes(b"bob:bob-secret "),
        "Bearer",
        "Bearer x",
        "Bearer " + "x" * 9_000,
        "Digest username=bob",
        "Negotiate oRQwEqADCgEB",
        "\x7f\xff",
    ],
)  # fmt: skip
def test_headers_that_let_nobody_in(connect: Connect, login: str) -> None:
    client = connect()
    answer = client.ask("/api/v1/topics", login)
    assert answer.status == 401
    assert "secret" not in answer.detail
    assert not client.is_open


def test_a_login_is_checked_where_none_is_needed(client: WebClient) -> None:
    assert client.ask("/health/ready", "Bearer x").status == 401


def test_guesses_wait_one_behind_the_other(broker: WebProcess, connect: Connect) -> None:
    """As at the Kafka door: 0.1 s after the first failure of a user, then 0.2 and 0.4, whatever the connection."""
    user = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(user, password="right"))
    start = time.monotonic()
    assert [connect().ask("/api/v1/topics", basic(user, f"guess {n}")).status for n in range(4)] == [401] * 4
    assert time.monotonic() - start >= 0.1 + 0.2 + 0.4 - 0.01
    assert connect().ask("/api/v1/topics", basic(user, "right")).status == 200


def test_a_header_that_is_too_long_is_refused(client: WebClient) -> None:
    assert client.ask("/api/v1/topics", "Basic " + "A" * 20_000).status == 431
    assert not client.is_open


def test_two_headers_are_refused(broker: WebProcess, client: WebClient) -> None:
    connection = client._connection
    connection.putrequest("GET", "/api/v1/topics")
    connection.putheader("Authorization", login_of("bob"))
    connection.putheader("Authorization", login_of("admin"))
    connection.endheaders()
    assert connection.getresponse().status == 401


def test_the_principal_of_a_certificate(broker: WebProcess, connect: Connect) -> None:
    """Rules make CARL of carl. Credentials that are sent come before the certificate."""
    carl = connect(broker.authority.issue("carl"))
    name = unique_name("carl")
    assert carl.ask("/api/v1/topics", method="POST", body={"name": name}).status == 201
    assert carl.ask("/metrics").status == 403
    assert carl.ask("/metrics", login_of("admin")).status == 200
    assert carl.ask("/metrics", basic("admin", "wrong")).status == 401


def test_a_certificate_for_which_there_is_no_rule(broker: WebProcess, connect: Connect) -> None:
    client = connect(broker.authority.issue("no rule 7"))
    assert client.ask("/api/v1/topics").status == 401


def test_scripts_of_pages_are_not_challenged(connect: Connect) -> None:
    """A challenge in answer to a script makes browsers ask their users for a password."""
    answer = connect().ask("/api/v1/topics", Sec_Fetch_Mode="cors", Sec_Fetch_Site="same-origin")
    assert answer.status == 401
    assert "Basic" not in str(answer.headers)


def _audited(broker: WebProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in broker.log_file.read_text().splitlines() if '"penstock.audit"' in line]


def _basic_logins_of_bob(lines: list[dict[str, Any]]) -> int:
    wanted = {"message": "login", "principal": "User:bob", "listener": "HTTP", "mechanism": "basic"}
    return sum(all(line.get(name) == value for name, value in wanted.items()) for line in lines)


def test_logins_are_in_the_audit_log(broker: WebProcess, client: WebClient) -> None:
    nobody = unique_name("nobody")
    before = _basic_logins_of_bob(_audited(broker))
    for _ in range(3):
        assert client.ask("/api/v1/topics", login_of("bob")).status == 200
    assert client.ask("/api/v1/topics", basic(nobody, "a-wrong-password")).status == 401
    log = broker.log_file.read_text()
    assert "a-wrong-password" not in log
    assert "bob-secret" not in log
    lines = _audited(broker)
    after = _basic_logins_of_bob(lines)
    assert after >= 1
    assert after - before <= 2  # one a minute, not one for each request
    failed = [line for line in lines if line["message"] == "login failed" and line["user"] == nobody]
    assert len(failed) == 1
