"""The proof behind a request: what its client has shown, and whether that still counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from penstock.security.tokens.table import TokenTable
    from penstock.security.tokens.token import Token
    from penstock.security.users.credential import ScramCredential
    from penstock.security.users.table import UserTable

_PROOF: Final = "penstock.proof"


class Proof(Protocol):
    @property
    def is_token(self) -> bool: ...

    def holds(self) -> bool:
        """Whether the client would be let in with it now."""
        ...


@dataclass(frozen=True, slots=True)
class PasswordProof:
    """A password that was right. Holds until the user gets another one, or goes."""

    is_token: ClassVar[bool] = False
    users: UserTable
    user: str
    credentials: tuple[ScramCredential, ...]

    @classmethod
    def of(cls, users: UserTable, user: str) -> PasswordProof:
        return cls(users, user, tuple(users.stored(user).values()))

    def holds(self) -> bool:
        return bool(self.credentials) and tuple(self.users.stored(self.user).values()) == self.credentials


@dataclass(frozen=True, slots=True)
class ForeignProof:
    """A password that an authenticator of another package has found right. It cannot be asked again without it."""

    is_token: ClassVar[bool] = False

    def holds(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class TokenProof:
    """A token. Holds until it expires or is revoked."""

    is_token: ClassVar[bool] = True
    tokens: TokenTable
    token: Token
    now_ms: Callable[[], int]

    def holds(self) -> bool:
        return self.tokens.is_valid(self.token, self.now_ms())


def keep_proof(scope: Scope, proof: Proof) -> None:
    scope[_PROOF] = proof


def proof_in(scope: Scope) -> Proof | None:
    """The proof of a request; None of one whose client has shown a certificate, or need not show anything."""
    found: Proof | None = scope.get(_PROOF)
    return found
