"""The tokens of a node, in memory. Whoever changes it has made the change durable before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.security.principal import Principal
from penstock.security.tokens.token import Token, digest_of


class TokenTable:
    """Tokens by id, and by the digests of their words: a look-up tells nothing about words that are nearly right."""

    def __init__(self) -> None:
        self._by_id: dict[str, Token] = {}
        self._by_digest: dict[bytes, Token] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Token]:
        return iter(self._by_id.values())

    def get(self, token_id: str) -> Token | None:
        return self._by_id.get(token_id)

    def of(self, principal: Principal) -> list[Token]:
        return [token for token in self if token.principal == principal]

    def valid(self, word: bytes, now_ms: int) -> Token | None:
        """The token of a word, None if there is none or its time is over."""
        token = self._by_digest.get(digest_of(word))
        return token if token is not None and now_ms < token.expires_ms else None

    def is_valid(self, token: Token, now_ms: int) -> bool:
        """Whether a token that was found before still holds."""
        return self._by_id.get(token.token_id) is token and now_ms < token.expires_ms

    def put(self, token: Token) -> None:
        self._by_id[token.token_id] = token
        self._by_digest[token.digest] = token

    def remove(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            self._by_id.pop(token.token_id, None)
            self._by_digest.pop(token.digest, None)
