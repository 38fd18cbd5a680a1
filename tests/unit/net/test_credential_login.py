"""Logins of HTTP requests: whatever a header holds, the request is let in as its user or refused."""

from __future__ import annotations

import asyncio
import base64
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.net.http.login.authorization import authorization_in
from penstock.net.http.login.cookie import SessionCookie
from penstock.net.http.login.credential_login import CredentialLogin
from penstock.net.http.login.web_sessions import WebSessions
from penstock.net.login.logins import Logins
from penstock.security.audit import Audit
from penstock.security.authenticator import AuthenticationFailed
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.principal import Principal
from penstock.security.session import Session
from penstock.security.tokens.table import TokenTable
from penstock.security.tokens.token import Token, digest_of
from penstock.security.users.credential import ScramMechanism, make_credential
from penstock.security.users.table import UserTable

SESSION = Session("HTTP", "192.0.2.1")
WORD = b"pst_word"
NOW_MS = 1_000


def made_login() -> CredentialLogin:
    users, tokens = UserTable(b"s" * 32, 4096), TokenTable()
    users.put("bob", ScramMechanism.SCRAM_SHA_256, make_credential(ScramMechanism.SCRAM_SHA_256, "secret", 4096))
    tokens.put(
        Token(
            token_id="1", principal=Principal("User", "tom"), name="", created_ms=0, expires_ms=NOW_MS + 1,
            digest=digest_of(WORD),
        )
    )  # fmt: skip
    listener = ListenerSecurity("HTTP", SecurityProtocol.SASL_SSL)
    logins = Logins(users, Audit(), failure_delay_ms=0, clock=lambda: 0.0)
    sessions = WebSessions(SessionCookie(is_secure=True), idle_seconds=1, longest_seconds=1, clock=time.monotonic)
    return CredentialLogin(listener, logins, users, tokens, sessions, lambda: NOW_MS)


def asked(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The user that the headers let in; None for a stranger. AuthenticationFailed for the others."""
    session = asyncio.run(made_login().identify(SESSION, {"type": "http", "headers": headers}))
    return None if session is None else session.user


def basic(content: bytes) -> bytes:
    return b"Basic " + base64.b64encode(content)


def test_who_is_let_in() -> None:
    assert asked([]) is None
    assert asked([(b"authorization", basic(b"bob:secret"))]) == "bob"
    assert asked([(b"authorization", b"Bearer " + WORD)]) == "tom"
    assert asked([(b"cookie", b"__Host-penstock-session=x")]) is None


_LOGINS = st.one_of(
    st.binary(max_size=200),
    st.builds(basic, st.binary(max_size=100)),
    st.builds(lambda rest: b"Bearer " + rest, st.binary(max_size=100)),
    st.builds(lambda rest: b"Basic " + rest, st.binary(max_size=100)),
)


@settings(max_examples=60, deadline=None)
@given(_LOGINS, st.binary(max_size=100))
@example(basic(b"bob:secret\0"), b"")
@example(basic(b"bob\0bob:secret"), b"")
@example(b"Bearer " + WORD + b"\0", b"")
@example(b"", b"__Host-penstock-session")
def test_any_other_header_is_refused(login: bytes, cookie: bytes) -> None:
    with pytest.raises(AuthenticationFailed) as failure:
        asked([(b"authorization", login), (b"cookie", cookie)])
    assert "secret" not in str(failure.value)


def test_credentials_are_not_shown() -> None:
    found = authorization_in([(b"authorization", basic(b"bob:secret"))])
    assert repr(found) == "Authorization('basic')"
