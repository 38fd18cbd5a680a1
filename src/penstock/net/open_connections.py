"""The open connections of a node, over all its doors: who is connected, and the end of it at an operator's wish.

Doors keep their own connections; each adds a function that lists them. A connection that is ended loses the requests
that are not answered yet, as when its network breaks: nothing that was acknowledged is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from penstock.runtime.turns import Turns
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.session import Session


class OpenConnection(Protocol):
    @property
    def session(self) -> Session | None:
        """The session of its client; None while nothing is known of it. At an HTTP port, that of its last request."""
        ...

    def disconnect(self, reason: str) -> None:
        """End the connection at once, also if the client does not read. Protocols that can tell it the reason do."""
        ...


class OpenConnections:
    """One for a node."""

    def __init__(self) -> None:
        self._doors: list[Callable[[], Iterable[OpenConnection]]] = []

    def add_door(self, connections: Callable[[], Iterable[OpenConnection]]) -> None:
        self._doors.append(connections)

    def __iter__(self) -> Iterator[tuple[OpenConnection, Session]]:
        """Those of which something is known. They may come and go meanwhile."""
        for connections in self._doors:
            for connection in tuple(connections()):
                session = connection.session
                if session is not None:
                    yield connection, session

    async def disconnect(
        self, is_meant: Callable[[Session], bool], reason: str, spared: OpenConnection | None = None
    ) -> int:
        """End those that are meant, but for the one that is `spared`; other clients are served meanwhile."""
        turns, count = Turns(), 0
        for connection, session in self:
            if connection is not spared and is_meant(session):
                connection.disconnect(reason)
                count += 1
            await turns.pause()
        return count


def owner_of(session: Session | None) -> Principal | None:
    """Who has logged in, for the admission; None where clients need not, and cannot be told apart."""
    return None if session is None or session.principal == ANONYMOUS else session.principal


def principal_of(session: Session) -> Principal | None:
    """The principal of a session; None if its client has still to log in."""
    return None if session.principal == ANONYMOUS and not session.authenticated else session.principal
