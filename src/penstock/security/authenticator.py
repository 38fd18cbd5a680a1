"""The decision who a client is: once for a connection, or for each request of a door without connections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from penstock.security.principal import ANONYMOUS
from penstock.security.session import Session


class AuthenticationFailed(Exception):
    """The client is not who it says it is, or has to say it first."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a connection or an HTTP request, named by their scheme."""

    scheme: str
    value: str


NO_CREDENTIALS: Final = Credentials("", "")


class Authenticator(Protocol):
    """One for all doors of a node. Raises AuthenticationFailed."""

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        """The session with its principal; not `authenticated` yet if the client has still to log in."""
        ...

    def admit(self, session: Session, request: str) -> None:
        """Let a session that is not authenticated make this request, such as the login itself, or raise."""
        ...


class Anonymous:
    """The authenticator of a node that asks for no login."""

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return session.with_principal(ANONYMOUS)

    def admit(self, session: Session, request: str) -> None:
        raise AuthenticationFailed("every session is authenticated when it begins")
