"""The identity and origin of a request, whichever door it came through.

A session is a value. The door that accepted the connection (or the HTTP request) owns the current one and replaces it
when something about the client becomes known: its software with ApiVersions, its client id with the first request, its
principal with a login. A request keeps the session it began with.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.security.principal import ANONYMOUS, Principal

UNKNOWN_SOFTWARE = "unknown"
"""Kafka's word for a client that has not named its software."""


class Session(NamedTuple):
    """`host` and `port` are the client's; `listener` names the door it came through.

    `authenticated`: the client has nothing more to prove, so that requests are not looked at for it.
    """

    listener: str
    host: str
    port: int = 0
    principal: Principal = ANONYMOUS
    client_id: str | None = None
    authenticated: bool = False
    software_name: str = UNKNOWN_SOFTWARE
    software_version: str = UNKNOWN_SOFTWARE

    @property
    def user(self) -> str:
        """The principal's name without its type, which is what quotas go by."""
        return self.principal.name

    def with_principal(self, principal: Principal) -> Session:
        """The session of a client that has proved who it is."""
        listener, host, port, _, client_id, _, name, version = self
        return Session(listener, host, port, principal, client_id, True, name, version)

    def with_client_id(self, client_id: str | None) -> Session:
        listener, host, port, principal, _, authenticated, name, version = self
        return Session(listener, host, port, principal, client_id, authenticated, name, version)

    def with_software(self, name: str, version: str) -> Session:
        listener, host, port, principal, client_id, authenticated, _, _ = self
        return Session(listener, host, port, principal, client_id, authenticated, name, version)
