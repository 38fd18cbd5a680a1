"""Sessions of clients that are known by their certificates."""

from __future__ import annotations

from penstock.security.audit import CERTIFICATE, Audit
from penstock.security.authenticator import AuthenticationFailed
from penstock.security.principal import ANONYMOUS
from penstock.security.session import Session
from penstock.security.tls.distinguished_name import subject_of
from penstock.security.tls.principal_rules import NoRuleFits, PrincipalRules


def certified(session: Session, certificate: bytes | None, rules: PrincipalRules) -> Session:
    """The session with the principal of a certificate in DER, or ANONYMOUS without one, as in Kafka.

    AuthenticationFailed if no rule makes a principal of it.
    """
    if certificate is None:
        return session.with_principal(ANONYMOUS)
    try:
        return session.with_principal(rules.principal(subject_of(certificate)))
    except (NoRuleFits, ValueError) as error:
        raise AuthenticationFailed(str(error)) from None


def certified_login(session: Session, certificate: bytes | None, rules: PrincipalRules, audit: Audit) -> Session:
    """The same for a connection whose certificate is its login, which the audit log has."""
    try:
        known = certified(session, certificate, rules)
    except AuthenticationFailed as failure:
        audit.login_failed(session, CERTIFICATE, "", str(failure))
        raise
    if certificate is not None:
        audit.logged_in(known, CERTIFICATE)
    return known
