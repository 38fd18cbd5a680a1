"""The session of a browser: begun with a password or a token, then carried by a cookie.

POST   /session    begins one: the answer sets the cookie
GET    /session    who asks
DELETE /session    ends it
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import Field

from penstock.net.http.login.authorization import authorization_in
from penstock.net.http.login.proof import proof_in
from penstock.net.http.login.web_sessions import WebSessions
from penstock.node.rest.bodies import Answer
from penstock.node.rest.parameters import Asking
from penstock.node.rest.problems import invalid


class SessionBody(Answer):
    principal: str = Field(description="You, as rules name you.", examples=["User:alice"])


class SessionRoutes:
    """`sessions` are None at a port that asks for no login."""

    def __init__(self, sessions: WebSessions | None) -> None:
        self._sessions = sessions
        self.router = router = APIRouter(prefix="/session", tags=["security"])
        router.post("", status_code=201)(self.begin_session)
        router.get("")(self.describe_session)
        router.delete("", status_code=204, response_class=Response)(self.end_session)

    async def begin_session(self, session: Asking, request: Request, response: Response) -> SessionBody:
        """Begin a session with the password or the token of this request. The cookie stands for them from now on."""
        sessions, proof = self._sessions, proof_in(request.scope)
        if sessions is None:
            raise invalid("this port asks for no password or token, so that there is no session to begin")
        headers = request.scope["headers"]
        if proof is None or authorization_in(headers) is None:  # a cookie makes no other one, or it would never end
            raise invalid("a session begins with a password (Basic) or a token (Bearer) in the header Authorization")
        if (before := sessions.cookie.word_in(headers)) is not None:
            sessions.end(before)
        word = sessions.begin(session.principal, proof)
        response.headers["Set-Cookie"] = sessions.cookie.header(word, int(sessions.longest_seconds))
        response.headers["Cache-Control"] = "no-store"
        return SessionBody(principal=str(session.principal))

    async def describe_session(self, session: Asking) -> SessionBody:
        """Your principal, however you have logged in."""
        return SessionBody(principal=str(session.principal))

    async def end_session(self, request: Request, response: Response) -> None:
        """End the session of the cookie: it lets nobody in any more."""
        if self._sessions is None:
            return
        word = self._sessions.cookie.word_in(request.scope["headers"])
        if word is not None:
            self._sessions.end(word)
        response.headers["Set-Cookie"] = self._sessions.cookie.header("", 0)
