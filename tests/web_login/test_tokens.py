"""Tokens at the HTTP port of a real broker: made, used, revoked, expired, and kept through a restart."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, deletion, upsertion
from tests.support.waiting import wait_until
from tests.web_login.conftest import Connect
from tests.web_login.secured import WebAnswer, WebClient, WebProcess, basic, login_of

pytestmark = pytest.mark.feature("K-16")

TOKENS = "/api/v1/security/tokens"


def make(client: WebClient, login: str, **body: object) -> WebAnswer:
    return client.ask(TOKENS, login, method="POST", body={"name": "test", **body})


def bearer(made: WebAnswer) -> str:
    assert made.status == 201, made
    return f"Bearer {made.json['token']}"


def ids(answer: WebAnswer) -> set[str]:
    assert answer.status == 200, answer
    return {token["id"] for token in answer.json["tokens"]}


def test_a_token_has_the_rights_of_its_principal(client: WebClient) -> None:
    made = make(client, login_of("bob"))
    assert made.headers["cache-control"] == "no-store"
    assert made.json["principal"] == "User:bob"
    assert made.json["expires"] - made.json["created"] == 90 * 86_400_000
    assert client.ask("/metrics", bearer(made)).status == 403
    name = unique_name("bob")
    assert client.ask("/api/v1/topics", bearer(made), method="POST", body={"name": name}).status == 201
    assert client.ask("/api/v1/topics", bearer(made).replace("Bearer", "bEARER")).status == 200


def test_a_revoked_token_is_refused_at_once(client: WebClient) -> None:
    made = make(client, login_of("bob"))
    assert client.ask("/api/v1/topics", bearer(made)).status == 200
    assert client.is_open
    assert client.ask(f"{TOKENS}/{made.json['id']}", login_of("bob"), method="DELETE").status == 204
    answer = client.ask("/api/v1/topics", bearer(made))
    assert answer.status == 401
    assert "revoked" in answer.detail
    assert client.ask(f"{TOKENS}/{made.json['id']}", login_of("admin"), method="DELETE").status == 404


def test_a_token_ends_by_itself(client: WebClient) -> None:
    made = make(client, login_of("bob"), lifetime_ms=1_000)
    wait_until(lambda: client.ask("/api/v1/topics", bearer(made)).status == 401, what="the token has expired")
    assert time.time() * 1000 >= made.json["expires"]
    make(client, login_of("bob"))
    assert made.json["id"] not in ids(client.ask(TOKENS, login_of("bob")))  # the next one has swept it away


def test_users_see_and_revoke_their_own(client: WebClient) -> None:
    bob, alice, admin = login_of("bob"), login_of("alice"), login_of("admin")
    own, of_alice = make(client, bob).json["id"], make(client, alice).json["id"]
    assert own in ids(client.ask(TOKENS, bob))
    assert of_alice not in ids(client.ask(TOKENS, bob))
    assert {own, of_alice} <= ids(client.ask(TOKENS, admin))
    assert client.ask(f"{TOKENS}/{of_alice}", bob, method="DELETE").status == 403
    assert client.ask(f"{TOKENS}/0123456789abcdef", bob, method="DELETE").status == 403  # as if it were another's
    assert client.ask(f"{TOKENS}/{of_alice}", admin, method="DELETE").status == 204
    assert b"pst_" not in client.ask(TOKENS, admin).body


def test_tokens_for_others_need_a_right(client: WebClient) -> None:
    assert make(client, login_of("bob"), principal="User:alice").status == 403
    made = make(client, login_of("admin"), principal="User:CARL")
    assert client.ask("/api/v1/topics", bearer(made), method="POST", body={"name": unique_name("carl")}).status == 201
    assert make(client, login_of("admin"), principal="User:ANONYMOUS").status == 400


def test_a_token_makes_no_token(client: WebClient) -> None:
    """Otherwise one that has leaked would live for ever."""
    answer = make(client, bearer(make(client, login_of("bob"))))
    assert answer.status == 403
    assert "password" in answer.detail


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": "x" * 101}, {"name": "x", "principal": "alice"}, {"name": "x", "principal": "User:"},
     {"name": "x", "lifetime_ms": 0}, {"name": "x", "lifetime_ms": 10**15}, {"name": "x", "token": "pst_mine"}],
)  # fmt: skip
def test_bodies_that_make_no_token(client: WebClient, body: dict[str, object]) -> None:
    assert client.ask(TOKENS, login_of("admin"), method="POST", body=body).status == 400


def test_wrong_tokens_are_late_and_alike(connect: Connect) -> None:
    made = make(connect(), login_of("bob"))
    wrong = [f"{bearer(made)}x", bearer(made)[:-1], "Bearer pst_", f"Bearer {made.json['id']}"]
    told = []
    for login in wrong:
        start = time.monotonic()
        answer = connect().ask("/api/v1/topics", login)
        assert time.monotonic() - start >= 0.095
        told.append((answer.status, answer.detail))
    assert set(told) == {(401, told[0][1])}


def test_a_user_takes_its_tokens_along(broker: WebProcess, client: WebClient) -> None:
    user = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(user, password="first"))
        token = bearer(make(client, basic(user, "first")))
        alter(admin, upsertion(user, password="second"))
        assert client.ask("/api/v1/topics", token).status == 200  # a token is no password
        alter(admin, deletion(user))
        assert client.ask("/api/v1/topics", token).status == 401
        alter(admin, upsertion(user, password="of another person"))
        assert client.ask("/api/v1/topics", token).status == 401


def test_there_are_not_more_tokens_than_a_limit(broker: WebProcess, client: WebClient) -> None:
    user = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(user, password="secret"))
    statuses = [make(client, basic(user, "secret")).status for _ in range(101)]
    assert statuses == [201] * 100 + [403]


def test_tokens_survive_a_kill_and_stay_out_of_files(tmp_path: Path) -> None:
    broker = WebProcess(tmp_path)
    broker.prepare()
    broker.start()
    kept = make(broker.client(), login_of("bob"))
    gone = make(broker.client(), login_of("bob"))
    assert broker.client().ask(f"{TOKENS}/{gone.json['id']}", login_of("bob"), method="DELETE").status == 204
    broker.kill9()
    broker.start()
    assert broker.client().ask("/api/v1/topics", bearer(kept)).status == 200
    assert broker.client().ask("/api/v1/topics", bearer(gone)).status == 401
    broker.stop()
    word = kept.json["token"].encode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if word in path.read_bytes()] == []
    audit = [json.loads(line) for line in broker.log_file.read_text().splitlines() if '"penstock.audit"' in line]
    changes = [(line["act"], line["what"].split()[0]) for line in audit if line["message"] == "changed"]
    assert ("create token", kept.json["id"]) in changes
    assert ("revoke token", gone.json["id"]) in changes
