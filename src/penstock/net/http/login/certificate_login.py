"""Clients of an HTTP port that are known by the certificates of their connections, as at Kafka's SSL listeners."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from penstock.security.audit import CERTIFICATE as BY_CERTIFICATE
from penstock.security.authenticator import AuthenticationFailed
from penstock.security.principal import Principal
from penstock.security.session import Session
from penstock.security.tls.certified import certified

if TYPE_CHECKING:
    from starlette.types import Scope

    from penstock.net.http.login.noted_logins import NotedLogins
    from penstock.security.tls.principal_rules import PrincipalRules

CERTIFICATE: Final = "penstock.certificate"
"""The client's certificate in DER, in the state of a request; absent without one."""
REMEMBERED_MAX: Final = 1_024


def certificate_in(scope: Scope) -> bytes | None:
    found = scope.get("state", {}).get(CERTIFICATE)
    assert found is None or isinstance(found, bytes)
    return found


class CertificateLogin:
    """Implements RequestLogin for SSL: a client without a certificate is ANONYMOUS."""

    needed = "show a certificate for which the rules of this port have a principal"
    refusal = HTTPStatus.FORBIDDEN

    def __init__(self, rules: PrincipalRules, noted: NotedLogins) -> None:
        self._noted = noted

        @lru_cache(REMEMBERED_MAX)  # a connection has many requests, and its certificate is parsed once
        def principal_of(certificate: bytes | None) -> Principal:
            return certified(Session("", ""), certificate, rules).principal

        self._principal_of = principal_of

    def known(self, session: Session, scope: Scope) -> Session:
        """The session with the principal of its certificate. AuthenticationFailed if no rule makes one of it."""
        certificate = certificate_in(scope)
        try:
            known = session.with_principal(self._principal_of(certificate))
        except AuthenticationFailed as failure:
            self._noted.audit.login_failed(session, BY_CERTIFICATE, "", str(failure))
            raise
        if certificate is not None:
            self._noted.note(known, BY_CERTIFICATE)
        return known

    async def identify(self, session: Session, scope: Scope) -> Session | None:
        return self.known(session, scope)

    def challenges(self, scope: Scope) -> tuple[bytes, ...]:
        return ()
