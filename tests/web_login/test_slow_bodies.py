"""Requests whose login ends while the body is under way: no route acts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, deletion, upsertion
from tests.support.waiting import wait_until
from tests.web_login.conftest import Connect
from tests.web_login.secured import SlowBody, WebClient, WebProcess, basic, login_of

TOKENS = "/api/v1/security/tokens"
TOPICS = "/api/v1/topics"
CONNECTIONS = "/api/v1/security/connections"
SESSION = "/api/v1/session"
PASSWORD = "old-secret"


class User(NamedTuple):
    name: str
    change: Callable[..., object]
    """Change credentials, in what they have already."""

    @property
    def login(self) -> str:
        return basic(self.name, PASSWORD)


@pytest.fixture
def user(broker: WebProcess) -> Iterator[User]:
    """A user of this test."""
    name = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(name, password=PASSWORD))
        yield User(name, lambda *alterations: alter(admin, *alterations))


@pytest.fixture
def observer(connect: Connect) -> WebClient:
    """Another connection, for what an administrator does meanwhile."""
    return connect()


def under_way(client: WebClient, observer: WebClient, who: str, path: str, body: object, **headers: str) -> SlowBody:
    """A request that was let in and whose body is not complete."""
    request = client.begin(path, body, **headers)
    wait_until(lambda: request.port in ports_of(observer, who), what="the request was let in")
    return request


def ports_of(observer: WebClient, who: str) -> set[int]:
    answer = observer.ask(f"{CONNECTIONS}?principal=User:{who}&limit=1000", login_of("admin"))
    return {connection["port"] for connection in answer.json["connections"]}


def test_a_user_that_is_removed_makes_no_token(client: WebClient, observer: WebClient, user: User) -> None:
    """A token ends with its user, so that none may be made after that."""
    request = under_way(client, observer, user.name, TOKENS, {"name": "kept"}, Authorization=user.login)
    user.change(deletion(user.name))
    answer = request.finish()
    assert answer.status == 401
    assert answer.json["error"] == "SASL_AUTHENTICATION_FAILED"
    assert "ended before its body was complete; log in" in answer.detail
    assert answer.headers["www-authenticate"].startswith("Basic ")
    assert not client.is_open
    listed = observer.ask(f"{TOKENS}?limit=1000", login_of("admin")).json["tokens"]
    assert f"User:{user.name}" not in {token["principal"] for token in listed}


def test_a_changed_password_ends_a_request_with_the_old_one(client: WebClient, observer: WebClient, user: User) -> None:
    request = under_way(client, observer, user.name, TOKENS, {"name": "kept"}, Authorization=user.login)
    user.change(upsertion(user.name, password="new-secret"))
    assert request.finish().status == 401
    assert client.ask(TOKENS, basic(user.name, "new-secret")).json["tokens"] == []


def test_a_revoked_token_makes_no_topic(client: WebClient, observer: WebClient) -> None:
    made = observer.ask(TOKENS, login_of("bob"), method="POST", body={"name": "short"}).json
    name = unique_name("bob")
    request = under_way(client, observer, "bob", TOPICS, {"name": name}, Authorization=f"Bearer {made['token']}")
    assert observer.ask(f"{TOKENS}/{made['id']}", login_of("bob"), method="DELETE").status == 204
    assert request.finish().status == 401
    assert observer.ask(f"{TOPICS}/{name}", login_of("admin")).status == 404


def test_a_session_that_has_ended_makes_no_topic(client: WebClient, observer: WebClient) -> None:
    begun = observer.ask(SESSION, login_of("bob"), method="POST")
    cookie = begun.headers["set-cookie"].partition(";")[0]
    name = unique_name("bob")
    request = under_way(client, observer, "bob", TOPICS, {"name": name}, Cookie=cookie)
    assert observer.ask(SESSION, method="DELETE", Cookie=cookie).status == 204
    assert request.finish().status == 401
    assert observer.ask(f"{TOPICS}/{name}", login_of("admin")).status == 404


def test_a_body_in_very_many_chunks(client: WebClient, observer: WebClient) -> None:
    """Under TLS, too: it is parsed in turns."""
    name = unique_name("bob")
    body = {"name": name, "configs": {"retention.ms": "1000"}}
    assert client.ask_in_chunks(TOPICS, login_of("bob"), body).status == 201
    assert client.is_open
    assert client.ask_in_chunks(TOPICS, login_of("bob"), {"name": "x" * 5_000}).status == 400
    assert observer.ask(f"{TOPICS}/{name}", login_of("admin")).status == 200


def test_a_slow_body_with_a_login_that_holds_is_served(client: WebClient, observer: WebClient) -> None:
    name = unique_name("bob")
    request = under_way(client, observer, "bob", TOPICS, {"name": name}, Authorization=login_of("bob"))
    assert request.finish().status == 201
    assert client.is_open
    assert observer.ask(f"{TOPICS}/{name}", login_of("admin")).status == 200
