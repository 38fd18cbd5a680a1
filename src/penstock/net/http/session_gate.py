"""The gate of every HTTP port: a session for each request, before any route sees it.

A body may take its client as long as it likes, so a login that has ended meanwhile is refused at the body's end: no
route acts on it. Rights are asked by the routes, which have the whole body by then.

Routes authorize what they do with the session (`session_of`), or declare what they need as a dependency (`on_cluster`).
A request that is not authenticated is answered with 401, one without the right with 403, both as problem+json. Health
is told without a login, too, but no more than the status (`is_stranger`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.http.connection_state import note_session
from penstock.net.http.login.proof import Proof, proof_in
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.problem import PROBLEM_TYPE, problem_body, send_problem
from penstock.security.access import Access
from penstock.security.authenticator import NO_CREDENTIALS, AuthenticationFailed, Credentials
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import Operation
from penstock.security.session import Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LISTENER: Final = "HTTP"
OPEN_PATHS: Final = frozenset(("/health/live", "/health/ready"))
ENDED: Final = "the login of this request ended before its body was complete"
_SESSION: Final = "penstock.session"
_STRANGER: Final = "penstock.stranger"
_FAILED: Final[dict[str, str | int]] = {
    "error": ErrorCode.SASL_AUTHENTICATION_FAILED.name,
    "code": int(ErrorCode.SASL_AUTHENTICATION_FAILED),
}
_CHALLENGE: Final = (b"www-authenticate", b"Basic, Bearer")


class SessionGate:
    """Middleware around a whole application, its mounted parts included.

    `login` says who asks; without one the authenticator of `access` does.
    """

    def __init__(self, app: ASGIApp, access: Access, login: RequestLogin | None = None) -> None:
        self._app = app
        self._access = access
        self._login = login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host, port = scope.get("client") or ("", 0)
            asked = Session(listener=LISTENER, host=host, port=port)
            if self._login is not None:
                await self._log_in(self._login, asked, scope, receive, send)
                return
            try:
                session = self._access.authenticate(asked, _credentials(scope))
                self._access.admit(session, f"{scope['method']} {scope['path']}")
            except AuthenticationFailed as failure:
                await send_problem(send, HTTPStatus.UNAUTHORIZED, str(failure), scope["path"], [_CHALLENGE])
                return
            _let_in(scope, session)
        await self._app(scope, receive, send)

    async def _log_in(self, login: RequestLogin, asked: Session, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            session = await login.identify(asked, scope)
            if session is None and scope["path"] not in OPEN_PATHS:
                raise AuthenticationFailed(login.needed)
        except AuthenticationFailed as failure:
            # The body has not been read, so that the connection is of no further use.
            headers = [(b"www-authenticate", challenge) for challenge in login.challenges(scope)]
            headers.append((b"connection", b"close"))
            await send_problem(send, login.refusal, str(failure), scope["path"], headers, **_FAILED)
            return
        scope[_STRANGER] = session is None
        _let_in(scope, asked if session is None else session)
        if session is None:
            await self._app(scope, receive, closing(send))
            return
        proof = proof_in(scope)
        if proof is not None:
            receive = self._while_it_holds(proof, login, scope, receive)
        await self._app(scope, receive, send)

    def _while_it_holds(self, proof: Proof, login: RequestLogin, scope: Scope, receive: Receive) -> Receive:
        """The same `receive`, which ends the request with 401 if the proof is worth nothing when the body is complete.

        It asks once: what comes after the body is news of the connection only.
        """
        is_complete = False

        async def receive_proved() -> Message:
            nonlocal is_complete
            message = await receive()
            if is_complete or message["type"] != "http.request" or message.get("more_body"):
                return message
            is_complete = True
            if proof.holds():
                return message
            from starlette.exceptions import HTTPException

            session = session_in(scope)
            self._access.audit.login_failed(session, LISTENER, session.user, ENDED)
            challenges = b", ".join(login.challenges(scope)).decode()
            headers = {"WWW-Authenticate": challenges, "Connection": "close"}
            raise HTTPException(login.refusal, f"{ENDED}; {login.needed}", headers)

        return receive_proved


def _let_in(scope: Scope, session: Session) -> None:
    scope[_SESSION] = session
    note_session(scope, session, is_stranger=scope.get(_STRANGER, False))


def closing(send: Send) -> Send:
    """The same `send` for an answer with which the connection ends: a stranger is not to keep a place."""

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), (b"connection", b"close")]
        await send(message)

    return send_and_close


def session_of(request: Request) -> Session:
    """The session that the gate gave the request; also a dependency of FastAPI's."""
    return session_in(request.scope)


def session_in(scope: MutableMapping[str, Any]) -> Session:
    return cast(Session, scope[_SESSION])


def sharer_in(scope: MutableMapping[str, Any]) -> Principal | None:
    """The principal, which shares what the port has with others; None where everybody is the same."""
    session = scope.get(_SESSION)
    if session is None or (_STRANGER not in scope and session.principal == ANONYMOUS):
        return None
    return cast(Principal, session.principal)


def is_stranger(request: Request) -> bool:
    """Whether the client could have logged in and has not: it sees no more than that the node is there."""
    return bool(request.scope.get(_STRANGER, False))


def on_cluster(access: Access, operation: Operation) -> Callable[[Request], Awaitable[None]]:
    """A dependency: the route needs this right on the cluster."""
    from starlette.requests import Request

    async def check(request: Request) -> None:
        access.check_cluster(session_of(request), operation)

    check.__annotations__["request"] = Request  # FastAPI reads it, and cannot see names of this function
    return check


_REFUSALS = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "this principal may not do that to the cluster",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "this principal may not do that to the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "this principal may not do that to the group",
}


async def denied(request: Request, error: Exception) -> Response:
    """The answer to a KafkaError of an access check, for applications whose routes raise no other KafkaErrors."""
    return _denied(request, error, "an administrator allows it with `penstock security acl add`")


async def denied_by_file(request: Request, error: Exception) -> Response:
    """The same at the port of a process that has the rules of its policy file and no others."""
    return _denied(request, error, "an administrator allows it with a rule in the policy file (acl.policy_file)")


def _denied(request: Request, error: Exception, fix: str) -> Response:
    from starlette.responses import Response

    assert isinstance(error, KafkaError)
    refusal = _REFUSALS.get(error.code)
    text = error.message or (error.code.name if refusal is None else f"{refusal}; {fix}")
    body = problem_body(HTTPStatus.FORBIDDEN, text, request.url.path, error=error.code.name)
    return Response(body, status_code=HTTPStatus.FORBIDDEN, media_type=PROBLEM_TYPE)


def _credentials(scope: Scope) -> Credentials:
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, rest = value.decode("latin-1").partition(" ")
            return Credentials(scheme.lower(), rest.strip())
    return NO_CREDENTIALS
