"""Who is connected, and the end of it.

GET    /security/connections    at every door, in pages
POST   /security/disconnect     ends those of a principal or an address, and the principal's browser sessions
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator, ConfigDict, Field

from penstock.model.text.address import is_address_of, literal
from penstock.net.http.connection_state import connection_in
from penstock.net.http.login.web_sessions import WebSessions
from penstock.net.open_connections import OpenConnections, principal_of
from penstock.node.rest.bodies import Answer, NextCursor, Question
from penstock.node.rest.documented import FORBIDDEN
from penstock.node.rest.paging import first_names, name_after, to_cursor
from penstock.node.rest.parameters import LIMIT, Asking, Cursor, Limit
from penstock.node.rest.problems import invalid
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import UNKNOWN_SOFTWARE, Session

REASON = "disconnected by an operator"
PRINCIPAL_PATTERN = "^[^:]+:.+$"


def _address(text: str) -> str:
    """The address in the form that sessions have."""
    address = literal(text)
    if address is None:
        raise ValueError("is not an IP address; names are not resolved")
    return address


class DisconnectBody(Question):
    model_config = ConfigDict(json_schema_extra={"examples": [{"principal": "User:alice"}]})

    principal: str | None = Field(
        default=None, pattern=PRINCIPAL_PATTERN, max_length=1_000, description="Whose connections end; all if left out."
    )
    address: (
        Annotated[
            str, Field(json_schema_extra={"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}), AfterValidator(_address)
        ]
        | None
    ) = Field(default=None, description="End only connections from this address.")


class DisconnectedBody(Answer):
    connections: int = Field(description="Connections that were ended.", examples=[3])
    sessions: int = Field(description="Sessions of browsers that were ended.", examples=[0])


class ConnectionBody(Answer):
    principal: str | None = Field(description="Null while the client has not logged in.", examples=["User:alice"])
    listener: str = Field(description="`PUSH` and `HTTP` are the doors of those protocols.", examples=["SASL_SSL"])
    host: str = Field(description="The client's address; empty for a unix socket.", examples=["10.0.0.7"])
    port: int = Field(examples=[51234])
    client_id: str | None = Field(examples=["app"])
    software: str | None = Field(examples=["librdkafka 2.16.0"])


class ConnectionsBody(Answer):
    connections: list[ConnectionBody]
    next_cursor: NextCursor


class ConnectionRoutes:
    """`sessions` are None at a port that asks for no login."""

    def __init__(self, connections: OpenConnections, sessions: WebSessions | None, access: Access) -> None:
        self._connections = connections
        self._sessions = sessions
        self._access = access
        self.router = router = APIRouter(prefix="/security", tags=["security"])
        router.get("/connections", responses=FORBIDDEN)(self.list_connections)
        router.post("/disconnect", responses=FORBIDDEN)(self.disconnect)

    async def list_connections(
        self,
        session: Asking,
        limit: Limit = LIMIT,
        cursor: Cursor = None,
        principal: Annotated[
            str | None, Query(pattern=PRINCIPAL_PATTERN, max_length=1_000, description="Only those of a principal.")
        ] = None,
    ) -> ConnectionsBody:
        """The open connections of all doors, by principal. A connection to the HTTP port is its last request's."""
        self._access.check_cluster(session, Operation.DESCRIBE)
        found: dict[str, Session] = {}
        names = await first_names(self._names(found, principal), name_after(cursor), limit + 1)
        return ConnectionsBody(
            connections=[_body(found[name]) for name in names[:limit]],
            next_cursor=to_cursor(names[limit - 1]) if len(names) > limit else None,
        )

    def _names(self, found: dict[str, Session], principal: str | None) -> Iterator[str]:
        """A name for each connection, by which they are sorted; `found` gets their sessions."""
        counts: Counter[str] = Counter()
        for _, session in self._connections:
            known = principal_of(session)
            if principal is None or str(known) == principal:
                name = "\0".join((str(known or ""), session.listener, session.host, f"{session.port:05}"))
                counts[name] += 1  # clients of a unix socket have no address to tell them apart
                name = f"{name}\0{counts[name]:05}"
                found[name] = session
                yield name

    async def disconnect(
        self, session: Asking, request: Request, response: Response, body: DisconnectBody
    ) -> DisconnectedBody:
        """End connections at once, at every door. Clients may come back: take their login or their rights away first.

        Nothing that was acknowledged is lost; requests that were not answered are in doubt, as when a network breaks.
        """
        self._access.check_cluster(session, Operation.ALTER)
        if body.principal is None and body.address is None:
            raise invalid("name the principal or the address whose connections are to end")
        meant = None if body.principal is None else Principal(*body.principal.split(":", 1))

        def is_meant(other: Session) -> bool:
            is_there = body.address is None or is_address_of(other.host, body.address)
            return is_there and (meant is None or principal_of(other) == meant)

        own = connection_in(request.scope)
        count = await self._connections.disconnect(is_meant, REASON, spared=own)
        if own is not None and is_meant(session):
            response.headers["Connection"] = "close"  # behind the answer
            count += 1
        ended = 0
        if self._sessions is not None and meant is not None and body.address is None:
            ended = self._sessions.end_all(meant)
        whose = " from ".join(filter(None, (body.principal, body.address)))
        self._access.audit.changed(session, "disconnect", f"{whose}: {count} connections, {ended} browser sessions")
        return DisconnectedBody(connections=count, sessions=ended)


def _body(session: Session) -> ConnectionBody:
    known = principal_of(session)
    named = [each for each in (session.software_name, session.software_version) if each != UNKNOWN_SOFTWARE]
    return ConnectionBody(
        principal=None if known is None else str(known),
        listener=session.listener,
        host=session.host,
        port=session.port,
        client_id=session.client_id,
        software=" ".join(named) or None,
    )
