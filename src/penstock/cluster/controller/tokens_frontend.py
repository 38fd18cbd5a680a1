"""Commands on tokens: made and revoked, durable first and then in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.cluster.controller.commands import Commands
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TOKENS_MAX, TOKENS_OF_PRINCIPAL_MAX
from penstock.security.principal import Principal
from penstock.security.tokens.table import TokenTable
from penstock.security.tokens.token import Token, digest_of, new_token_id, new_word
from penstock.storage.metadata.tokens import StoredToken, StoredTokens


class NewToken(NamedTuple):
    """A token, and its word, which only its maker ever sees."""

    token: Token
    word: str

    def __repr__(self) -> str:
        return f"NewToken({self.token.token_id!r})"


class TokensFrontend:
    """Single writer of the table of tokens."""

    def __init__(self, *, commands: Commands, store: StoredTokens) -> None:
        self.table = TokenTable()
        self._commands = commands
        self._store = store

    def load(self) -> None:
        for row in self._store.all():
            self.table.put(_token(row))

    async def create(
        self, principal: Principal, name: str, now_ms: int, lifetime_ms: int, may_ask: Callable[[], bool]
    ) -> NewToken:
        """Make a token; those that have expired go. POLICY_VIOLATION if there are too many.

        `may_ask` says whether the login of the client that asks still holds. It is asked in the command's turn: one
        before it may have removed the client's user together with all tokens, and this one would remain.
        """
        return await self._commands.run(self._create(principal, name, now_ms, lifetime_ms, may_ask))

    async def revoke(self, tokens: Sequence[Token]) -> None:
        """Remove tokens. The next request with one of them is refused."""
        await self._commands.run(self.remove(tokens))

    async def _create(
        self, principal: Principal, name: str, now_ms: int, lifetime_ms: int, may_ask: Callable[[], bool]
    ) -> NewToken:
        if not may_ask():
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED)
        expired = [token for token in self.table if now_ms >= token.expires_ms]
        gone = {token.token_id for token in expired}
        if len(self.table) - len(gone) >= TOKENS_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"there are {TOKENS_MAX} tokens; revoke some first")
        own = [token for token in self.table.of(principal) if token.token_id not in gone]
        if len(own) >= TOKENS_OF_PRINCIPAL_MAX:
            text = f"{principal} has {TOKENS_OF_PRINCIPAL_MAX} tokens; revoke some first"
            raise KafkaError(ErrorCode.POLICY_VIOLATION, text)
        word = new_word()
        token = Token(
            token_id=new_token_id(),
            principal=principal,
            name=name,
            created_ms=now_ms,
            expires_ms=now_ms + lifetime_ms,
            digest=digest_of(word.encode()),
        )
        await self._commands.durably(self._store.change, sorted(gone), [_row(token)])
        self.table.remove(expired)
        self.table.put(token)
        return NewToken(token, word)

    async def remove(self, tokens: Sequence[Token]) -> None:
        """The same inside another command."""
        if not tokens:
            return
        await self._commands.durably(self._store.change, [token.token_id for token in tokens], [])
        self.table.remove(tokens)


def _row(token: Token) -> StoredToken:
    return StoredToken(
        token.token_id, str(token.principal), token.name, token.created_ms, token.expires_ms, token.digest
    )


def _token(row: StoredToken) -> Token:
    kind, _, name = row.principal.partition(":")
    return Token(
        token_id=row.token_id,
        principal=Principal(kind, name),
        name=row.name,
        created_ms=row.created_ms,
        expires_ms=row.expires_ms,
        digest=row.digest,
    )
