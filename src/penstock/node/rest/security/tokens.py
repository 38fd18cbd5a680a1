"""Tokens of clients that use HTTP: one's own, and with rights on the cluster those of others.

POST   /security/tokens            the answer has the word, which is shown this once
GET    /security/tokens            in pages
DELETE /security/tokens/{token}    by id; at once
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import ConfigDict, Field

from penstock.cluster.controller.tokens_frontend import TokensFrontend
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TOKEN_LIFETIME_MS_MAX, TOKEN_LIFETIME_MS_MIN, TOKEN_NAME_LENGTH_MAX
from penstock.net.http.login.proof import proof_in
from penstock.node.rest.bodies import Answer, NextCursor, Question
from penstock.node.rest.documented import FORBIDDEN, NOT_FOUND
from penstock.node.rest.paging import first_names, name_after, to_cursor
from penstock.node.rest.parameters import LIMIT, Asking, Cursor, Limit
from penstock.node.rest.problems import invalid
from penstock.runtime.clock import Clock
from penstock.security.access import Access
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.security.tokens.token import Token

TokenId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="Id of a token.", examples=["0123456789abcdef"])]


class NewTokenBody(Question):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "nightly backup"}]})

    name: str = Field(min_length=1, max_length=TOKEN_NAME_LENGTH_MAX, description="What it is for.")
    principal: str | None = Field(
        default=None,
        pattern="^User:.+$",
        max_length=300,
        description="For whom; yourself if it is left out. Another one needs the right to alter the cluster.",
    )
    lifetime_ms: int | None = Field(
        default=None,
        ge=TOKEN_LIFETIME_MS_MIN,
        le=TOKEN_LIFETIME_MS_MAX,
        description="Time for which it holds; security.token_lifetime_ms if it is left out.",
    )


class TokenBody(Answer):
    id: str = Field(examples=["0123456789abcdef"])
    principal: str = Field(examples=["User:alice"])
    name: str = Field(examples=["nightly backup"])
    created: int = Field(description="Milliseconds since 1970.", examples=[1772355600000])
    expires: int = Field(description="Milliseconds since 1970.", examples=[1780131600000])
    expired: bool = Field(examples=[False])


class MadeTokenBody(TokenBody):
    token: str = Field(description="The word to send as `Authorization: Bearer`. It is shown only here.")


class TokensBody(Answer):
    tokens: list[TokenBody]
    next_cursor: NextCursor


class TokenRoutes:
    def __init__(self, tokens: TokensFrontend, access: Access, clock: Clock, lifetime_ms: int) -> None:
        self._tokens = tokens
        self._access = access
        self._clock = clock
        self._lifetime_ms = lifetime_ms
        self.router = router = APIRouter(prefix="/security/tokens", tags=["security"])
        router.post("", status_code=201, responses=FORBIDDEN)(self.create_token)
        router.get("")(self.list_tokens)
        router.delete("/{token}", status_code=204, response_class=Response, responses=NOT_FOUND | FORBIDDEN)(
            self.revoke_token
        )

    async def create_token(
        self, session: Asking, request: Request, response: Response, body: NewTokenBody
    ) -> MadeTokenBody:
        """Make a token. Its word is in this answer and nowhere else."""
        principal = session.principal if body.principal is None else Principal(*body.principal.split(":", 1))
        if principal == ANONYMOUS:
            raise invalid("a token stands for a user; name one as principal, such as User:alice")
        proof = proof_in(request.scope)
        if principal != session.principal:
            self._access.check_cluster(session, Operation.ALTER)
        elif proof is not None and proof.is_token:
            raise KafkaError(
                ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                "a token cannot make another one for its user, or it would never end; log in with the password",
            )
        lifetime_ms = body.lifetime_ms or self._lifetime_ms
        made = await self._tokens.create(
            principal, body.name, self._clock.now_ms(), lifetime_ms, lambda: proof is None or proof.holds()
        )
        self._access.audit.changed(session, "create token", f"{made.token.token_id} of {principal}")
        response.headers["Cache-Control"] = "no-store"
        return MadeTokenBody(**self._body(made.token).model_dump(), token=made.word)

    async def list_tokens(self, session: Asking, limit: Limit = LIMIT, cursor: Cursor = None) -> TokensBody:
        """Your tokens; all of them, if you may describe the cluster. Words are not shown."""
        ids = await first_names(self._ids(session), name_after(cursor), limit + 1)
        found = [token for token in map(self._tokens.table.get, ids[:limit]) if token is not None]
        return TokensBody(
            tokens=[self._body(token) for token in found],
            next_cursor=to_cursor(ids[limit - 1]) if len(ids) > limit else None,
        )

    def _ids(self, session: Session) -> Iterator[str]:
        shows_all = self._access.shows_cluster(session, Operation.DESCRIBE)
        known = list(self._tokens.table) if shows_all else self._tokens.table.of(session.principal)
        return (token.token_id for token in known)

    async def revoke_token(self, session: Asking, token: TokenId) -> None:
        """Revoke a token: the next request with it is refused."""
        found = self._tokens.table.get(token)
        if found is None or found.principal != session.principal:
            self._access.check_cluster(session, Operation.ALTER)
        if found is None:
            raise KafkaError(
                ErrorCode.RESOURCE_NOT_FOUND, f"there is no token {token}; GET /api/v1/security/tokens lists them"
            )
        await self._tokens.revoke([found])
        self._access.audit.changed(session, "revoke token", f"{found.token_id} of {found.principal}")

    def _body(self, token: Token) -> TokenBody:
        return TokenBody(
            id=token.token_id,
            principal=str(token.principal),
            name=token.name,
            created=token.created_ms,
            expires=token.expires_ms,
            expired=self._clock.now_ms() >= token.expires_ms,
        )
