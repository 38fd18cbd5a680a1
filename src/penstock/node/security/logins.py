"""Logins in the node: built from its users and settings, for the doors that ask who comes in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from penstock.config.settings import HttpSettings, SaslSettings
from penstock.net.http.login.certificate_login import CertificateLogin
from penstock.net.http.login.cookie import SessionCookie
from penstock.net.http.login.credential_login import CredentialLogin
from penstock.net.http.login.noted_logins import NotedLogins
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.login.web_sessions import WebSessions
from penstock.net.listener import Bound
from penstock.net.login.logins import ForeignChecks, Logins
from penstock.net.tls.server import Listening, TlsServer
from penstock.security.audit import Audit
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.tokens.table import TokenTable
from penstock.security.users.table import UserTable


async def build_logins(
    users: UserTable, audit: Audit, settings: SaslSettings, foreign: ForeignChecks | None = None
) -> Logins:
    """The logins of a node, with the SCRAM library loaded: otherwise the loop would wait for it at the first login."""
    logins = Logins(
        users,
        audit,
        failure_delay_ms=settings.failed_authentication_delay_ms,
        clock=asyncio.get_running_loop().time,
        foreign=foreign,
    )
    for mechanism in settings.enabled_mechanisms:
        await asyncio.to_thread(logins.machine, mechanism)
    return logins


def web_sessions(listener: ListenerSecurity, settings: HttpSettings) -> WebSessions | None:
    """The sessions of browsers at an HTTP port with logins."""
    if not listener.protocol.has_sasl:
        return None
    return WebSessions(
        SessionCookie(listener.protocol.has_tls),
        idle_seconds=settings.session_idle_ms / 1000,
        longest_seconds=settings.session_ms_max / 1000,
        clock=asyncio.get_running_loop().time,
    )


def audit_handshakes(listening: Bound | Listening, listener: ListenerSecurity, audit: Audit) -> None:
    """Have certificates that are refused at a door in the audit log, as logins that have failed."""
    if isinstance(listening, TlsServer):
        listening.report_refused_certificates(partial(audit.certificate_refused, listener.name))


def request_login(
    listener: ListenerSecurity,
    logins: Logins | None,
    sessions: WebSessions | None,
    users: UserTable,
    tokens: TokenTable,
    now_ms: Callable[[], int],
    audit: Audit,
) -> RequestLogin | None:
    """The login of an HTTP port by its protocol; None where nobody is asked."""
    if listener.protocol is SecurityProtocol.SSL:
        noted = NotedLogins(audit, asyncio.get_running_loop().time)
        return CertificateLogin(listener.principal_rules, noted)
    if sessions is None:
        return None
    assert logins is not None, "a door with SASL has logins"
    return CredentialLogin(listener, logins, users, tokens, sessions, now_ms)
