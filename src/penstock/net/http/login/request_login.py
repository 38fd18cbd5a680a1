"""The contract of a login at an HTTP port: asked for each request, because a proxy may put clients on one connection.

A port without one lets everybody in as the authenticator of the node says.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.types import Scope

    from penstock.security.session import Session


class RequestLogin(Protocol):
    @property
    def needed(self) -> str:
        """The answer to a client that has to log in: how."""
        ...

    @property
    def refusal(self) -> HTTPStatus:
        """The status of a request that is not let in: 403 where there is nothing that a client could send."""
        ...

    async def identify(self, session: Session, scope: Scope) -> Session | None:
        """The session with its principal; None for a client that shows nothing to be known by.

        AuthenticationFailed if what it shows is wrong.
        """
        ...

    def challenges(self, scope: Scope) -> Iterable[bytes]:
        """The schemes in which a client can log in, each as a value of WWW-Authenticate."""
        ...
