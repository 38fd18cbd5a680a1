"""Sessions of browsers at the HTTP port of a real broker: a cookie for a login, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, upsertion
from tests.support.waiting import wait_until
from tests.web_login.secured import WebAnswer, WebClient, WebProcess, basic, login_of

SESSION = "/api/v1/session"


def begin(client: WebClient, login: str, **headers: str) -> str:
    """The cookie of a new session, as a browser sends it."""
    answer = client.ask(SESSION, login, method="POST", **headers)
    assert answer.status == 201, answer
    return answer.headers["set-cookie"].partition(";")[0]


def who(client: WebClient, cookie: str) -> str | int:
    """The principal of a cookie, or the status."""
    answer = client.ask(SESSION, Cookie=cookie)
    return str(answer.json["principal"]) if answer.status == 200 else answer.status


def origin(broker: WebProcess) -> str:
    return f"https://127.0.0.1:{broker.http_port}"


def test_a_cookie_stands_for_a_login(broker: WebProcess, client: WebClient) -> None:
    answer = client.ask(SESSION, login_of("bob"), method="POST")
    name_and_word, *attributes = answer.headers["set-cookie"].split("; ")
    assert name_and_word.startswith("__Host-penstock-session=")
    assert sorted(attributes) == ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=Strict", "Secure"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json == {"principal": "User:bob"}
    assert who(client, f"other=1; {name_and_word}") == "User:bob"
    assert client.ask("/metrics", Cookie=name_and_word).status == 403
    name = unique_name("bob")
    made = client.ask("/api/v1/topics", method="POST", body={"name": name}, Cookie=name_and_word, Origin=origin(broker))
    assert made.status == 201
    assert client.ask(SESSION, login_of("admin"), Cookie=name_and_word).json == {"principal": "User:admin"}


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
     {"Sec_Fetch_Site": "same-site"}],
)  # fmt: skip
def test_a_page_of_another_origin_changes_nothing_with_a_cookie(client: WebClient, headers: dict[str, str]) -> None:
    cookie = begin(client, login_of("admin"))
    name = unique_name("foreign")
    answer = client.ask("/api/v1/topics", method="POST", body={"name": name}, Cookie=cookie, **headers)
    assert answer.status == 403
    assert client.ask(f"/api/v1/topics/{name}", Cookie=cookie).status == 404
    assert client.ask(SESSION, login_of("admin"), method="POST", **headers).status == 403


def test_a_page_without_tls_is_another_origin(client: WebClient, broker: WebProcess) -> None:
    """Whoever is on the line can make such a page, under the name of this port, too."""
    cookie = begin(client, login_of("admin"))
    forged = origin(broker).replace("https:", "http:")
    assert client.ask(SESSION, method="DELETE", Cookie=cookie, Origin=forged).status == 403
    assert client.ask(SESSION, method="DELETE", Cookie=cookie, Origin=origin(broker)).status < 300


def test_the_end_of_a_session(client: WebClient) -> None:
    cookie, other = begin(client, login_of("bob")), begin(client, login_of("bob"))
    answer = client.ask(SESSION, method="DELETE", Cookie=cookie)
    assert answer.status == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert who(client, cookie) == 401
    assert who(client, other) == "User:bob"
    assert begin(client, login_of("bob"), Cookie=other) != other
    assert who(client, other) == 401  # a new login takes its place


def test_a_session_ends_with_its_password(broker: WebProcess, client: WebClient) -> None:
    user = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(user, password="old"))
        cookie = begin(client, basic(user, "old"))
        assert who(client, cookie) == f"User:{user}"
        alter(admin, upsertion(user, password="new"))
        assert who(client, cookie) == 401


def test_a_session_ends_with_its_token_and_is_no_more_than_that(client: WebClient) -> None:
    tokens = "/api/v1/security/tokens"
    made = client.ask(tokens, login_of("bob"), method="POST", body={"name": "browser"})
    cookie = begin(client, f"Bearer {made.json['token']}")
    assert who(client, cookie) == "User:bob"
    assert client.ask(tokens, method="POST", body={"name": "another"}, Cookie=cookie).status == 403
    assert client.ask(f"{tokens}/{made.json['id']}", login_of("bob"), method="DELETE").status == 204
    assert who(client, cookie) == 401


def test_only_a_password_or_a_token_begins_a_session(broker: WebProcess, client: WebClient) -> None:
    cookie = begin(client, login_of("bob"))
    assert client.ask(SESSION, method="POST", Cookie=cookie).status == 400
    carl = broker.client(broker.authority.issue("carl"))
    assert carl.ask(SESSION).json == {"principal": "User:CARL"}
    assert carl.ask(SESSION, method="POST").status == 400
    carl.close()
    assert client.ask(SESSION, method="POST").status == 401


@pytest.mark.parametrize("word", ["", "x", "x" * 9_000, '"', "=", "pst_x", "\xff"])
def test_cookies_that_let_nobody_in(client: WebClient, word: str) -> None:
    assert who(client, f"__Host-penstock-session={word}") == 401
    assert client.ask("/health/live", Cookie=f"__Host-penstock-session={word}").status == 200


def test_a_cookie_without_its_prefix_is_nothing_under_tls(client: WebClient) -> None:
    assert who(client, begin(client, login_of("bob")).removeprefix("__Host-")) == 401


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[WebProcess]:
    """A broker without TLS whose sessions end soon."""
    http = {"session_idle_ms": 600_000, "session_ms_max": 1_500}
    process = WebProcess(tmp_path, "SASL_PLAINTEXT", http=http, sasl={"enabled_mechanisms": ["PLAIN"]})
    process.prepare()
    process.start()
    yield process
    process.stop()


def test_a_session_that_is_used_ends_all_the_same(hasty: WebProcess) -> None:
    client = hasty.client()
    answer: WebAnswer = client.ask(SESSION, login_of("bob"), method="POST")
    assert "Secure" not in answer.headers["set-cookie"]
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("penstock-session=")
    wait_until(lambda: who(client, cookie) == 401, what="the session has ended")
    assert client.ask("/api/v1/topics", login_of("bob")).status == 200
