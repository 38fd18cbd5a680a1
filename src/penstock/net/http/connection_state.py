"""The connection of an HTTP request, in the request's state: the gate notes there who sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from starlette.types import Scope

    from penstock.security.session import Session

CONNECTION: Final = "penstock.connection"


class RequestConnection(Protocol):
    """Implements `net.open_connections.OpenConnection`."""

    session: Session | None

    def disconnect(self, reason: str) -> None: ...

    def confirm(self) -> None:
        """Note that the client was let in: its connection keeps its place from now on."""
        ...


def connection_in(scope: Scope) -> RequestConnection | None:
    """The connection that brought a request; None where the application is called without a server."""
    found: RequestConnection | None = scope.get("state", {}).get(CONNECTION)
    return found


def note_session(scope: Scope, session: Session, *, is_stranger: bool = False) -> None:
    """Note who sends a request. The connection of a stranger, who could have logged in, gives way to others."""
    connection = connection_in(scope)
    if connection is not None:
        connection.session = session
        if not is_stranger:
            connection.confirm()
