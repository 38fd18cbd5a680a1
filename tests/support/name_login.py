"""A login of HTTP requests under test: whoever sends a name has it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from penstock.security.principal import Principal
from penstock.security.session import Session

if TYPE_CHECKING:
    from starlette.types import Scope


class NameLogin:
    """Implements RequestLogin. The name is all that the header Authorization has."""

    needed = "send a name"
    refusal = HTTPStatus.UNAUTHORIZED

    async def identify(self, session: Session, scope: Scope) -> Session | None:
        name = dict(scope["headers"]).get(b"authorization")
        return None if name is None else session.with_principal(Principal("User", name.decode()))

    def challenges(self, scope: Scope) -> tuple[bytes, ...]:
        return ()
