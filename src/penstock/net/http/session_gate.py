"""The gate of every HTTP port: a session for each request, before any route sees it.

Routes authorize what they do with the session (`session_of`), or declare what they need as a dependency (`on_cluster`).
A request that is not authenticated is answered with 401, one without the right with 403, both as problem+json.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.model.errors import KafkaError
from penstock.security.access import Access
from penstock.security.authenticator import NO_CREDENTIALS, AuthenticationFailed, Credentials
from penstock.security.resources import Operation
from penstock.security.session import Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

LISTENER: Final = "HTTP"
_SESSION: Final = "penstock.session"
_CHALLENGE: Final = (b"www-authenticate", b"Basic, Bearer")


class SessionGate:
    """Middleware around a whole application, its mounted parts included."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host, port = scope.get("client") or ("", 0)
            asked = Session(listener=LISTENER, host=host, port=port)
            try:
                session = self._access.authenticate(asked, _credentials(scope))
                self._access.admit(session, f"{scope['method']} {scope['path']}")
            except AuthenticationFailed as failure:
                await _refuse(send, scope["path"], str(failure))
                return
            scope[_SESSION] = session
        await self._app(scope, receive, send)


def session_of(request: Request) -> Session:
    """The session that the gate gave the request; also a dependency of FastAPI's."""
    return session_in(request.scope)


def session_in(scope: MutableMapping[str, Any]) -> Session:
    return cast(Session, scope[_SESSION])


def on_cluster(access: Access, operation: Operation) -> Callable[[Request], Awaitable[None]]:
    """A dependency: the route needs this right on the cluster."""
    from starlette.requests import Request

    async def check(request: Request) -> None:
        access.check_cluster(session_of(request), operation)

    check.__annotations__["request"] = Request  # FastAPI reads it, and cannot see names of this function
    return check


async def denied(request: Request, error: Exception) -> Response:
    """The answer to a KafkaError of an access check, for applications whose routes raise no other KafkaErrors."""
    from starlette.responses import Response

    assert isinstance(error, KafkaError)
    body = _body(HTTPStatus.FORBIDDEN, error.message or error.code.name, request.url.path)
    return Response(body, status_code=HTTPStatus.FORBIDDEN, media_type="application/problem+json")


def _credentials(scope: Scope) -> Credentials:
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, rest = value.decode("latin-1").partition(" ")
            return Credentials(scheme.lower(), rest.strip())
    return NO_CREDENTIALS


async def _refuse(send: Send, path: str, detail: str) -> None:
    body = _body(HTTPStatus.UNAUTHORIZED, detail, path).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body)), _CHALLENGE]
    await send({"type": "http.response.start", "status": int(HTTPStatus.UNAUTHORIZED), "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _body(status: HTTPStatus, detail: str, path: str) -> str:
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail, "instance": path}
    return json.dumps(body) + "\n"
