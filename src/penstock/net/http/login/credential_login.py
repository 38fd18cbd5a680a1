"""Clients of an HTTP port with SASL: they send a password, a token or a cookie, or have shown a certificate.

A token is looked up, which takes no time. A password is checked like that of SASL PLAIN: against the same users, with
the same back-off and failure delay, in a thread, and not again for a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from penstock.net.http.login.authorization import BASIC, BEARER, Authorization, authorization_in, plain_message
from penstock.net.http.login.certificate_login import CertificateLogin, certificate_in
from penstock.net.http.login.noted_logins import NotedLogins
from penstock.net.http.login.proof import ForeignProof, PasswordProof, Proof, TokenProof, keep_proof
from penstock.security.authenticator import AuthenticationFailed
from penstock.security.sasl.machine import Challenge, Done, Failed
from penstock.security.sasl.plain import PLAIN

if TYPE_CHECKING:
    from starlette.types import Scope

    from penstock.net.http.login.web_sessions import WebSessions
    from penstock.net.login.logins import Logins
    from penstock.security.listener import ListenerSecurity
    from penstock.security.session import Session
    from penstock.security.tokens.table import TokenTable
    from penstock.security.users.table import UserTable

_BASIC_CHALLENGE: Final = b'Basic realm="penstock", charset="UTF-8"'
_BEARER_CHALLENGE: Final = b'Bearer realm="penstock"'
_WRONG_TOKEN: Final = "the token is unknown, has expired or was revoked; `penstock security token create` makes another"
_NEEDED: Final = "log in with a user name and a password (Basic), or with a token (Bearer)"
_TOKEN_NEEDED: Final = "log in with a token (Bearer); passwords are not taken, because this port is not encrypted"
_WRONG: Final = "the user name or the password is wrong"
_NO_BASIC: Final = (
    "this port takes no passwords, because it is not encrypted; use TLS (SASL_SSL), or add PLAIN to"
    " sasl.enabled_mechanisms, which is safe within one machine only"
)


class CredentialLogin:
    """Implements RequestLogin for SASL_PLAINTEXT and SASL_SSL."""

    refusal = HTTPStatus.UNAUTHORIZED

    def __init__(
        self,
        listener: ListenerSecurity,
        logins: Logins,
        users: UserTable,
        tokens: TokenTable,
        sessions: WebSessions,
        now_ms: Callable[[], int],
    ) -> None:
        self._logins = logins
        self._users = users
        self._tokens = tokens
        self._sessions = sessions
        self._now_ms = now_ms
        self._takes_passwords = listener.protocol.has_tls or PLAIN in listener.mechanisms
        self._noted = NotedLogins(logins.audit, logins.clock)
        self._certificates = CertificateLogin(listener.principal_rules, self._noted)
        self.needed = _NEEDED if self._takes_passwords else _TOKEN_NEEDED

    def challenges(self, scope: Scope) -> tuple[bytes, ...]:
        if not self._takes_passwords or _is_script(scope):
            return (_BEARER_CHALLENGE,)
        return (_BASIC_CHALLENGE, _BEARER_CHALLENGE)

    async def identify(self, session: Session, scope: Scope) -> Session | None:
        given = authorization_in(scope["headers"])
        if given is not None:
            return await self._by_authorization(session, scope, given)
        by_cookie = self._by_cookie(session, scope)
        if by_cookie is None and certificate_in(scope) is not None:
            return self._certificates.known(session, scope)
        return by_cookie

    def _by_cookie(self, session: Session, scope: Scope) -> Session | None:
        """A cookie that has ended is as good as none: browsers keep them. Other sites are kept off by BrowserGuard."""
        word = self._sessions.cookie.word_in(scope["headers"])
        found = None if word is None else self._sessions.find(word)
        if found is None:
            return None
        keep_proof(scope, found)
        return session.with_principal(found.principal)

    async def _by_authorization(self, session: Session, scope: Scope, given: Authorization) -> Session:
        if given.scheme == BASIC:
            return await self._by_password(session, scope, given.value)
        if given.scheme == BEARER:
            return await self._by_token(session, scope, given.value)
        await self._logins.failed(session, given.scheme[:20], "", "an unknown scheme")
        raise AuthenticationFailed(f"this port does not know that scheme; {self.needed}")

    async def _by_token(self, session: Session, scope: Scope, word: bytes) -> Session:
        token = self._tokens.valid(word, self._now_ms())
        if token is None:
            await self._logins.failed(session, BEARER, "", "unknown, expired or revoked")
            raise AuthenticationFailed(_WRONG_TOKEN)
        keep_proof(scope, TokenProof(self._tokens, token, self._now_ms))
        session = session.with_principal(token.principal)
        self._noted.note(session, BEARER)
        return session

    async def _by_password(self, session: Session, scope: Scope, value: bytes) -> Session:
        if not self._takes_passwords:
            await self._logins.failed(session, BASIC, "", "a password without encryption")
            raise AuthenticationFailed(_NO_BASIC)
        step, user = self._logins.machine(PLAIN).step(plain_message(value), self._logins.clock()), ""
        assert not isinstance(step, Challenge), "PLAIN has one message"
        if isinstance(step, Failed):
            outcome: Done | Failed = step
        else:
            user = step.user
            keep_proof(scope, self._proof_of(user))  # before the check: a password may change meanwhile
            outcome = await self._logins.attempt(session, step)
        if isinstance(outcome, Failed):
            await self._logins.failed(session, BASIC, user, outcome.reason)
            raise AuthenticationFailed(_WRONG)
        session = session.with_principal(outcome.who)
        self._noted.note(session, BASIC)
        return session

    def _proof_of(self, user: str) -> Proof:
        return ForeignProof() if self._logins.has_authenticator else PasswordProof.of(self._users, user)


def _is_script(scope: Scope) -> bool:
    """Whether a script of a page asks: a challenge would make the browser ask its user, behind the script's back."""
    mode = next((value for name, value in scope["headers"] if name == b"sec-fetch-mode"), b"navigate")
    return bool(mode != b"navigate")
