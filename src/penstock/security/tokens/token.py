"""A token: a random word that its holder shows instead of a password.

    pst_ and 43 characters, 256 random bits

The word is shown once, when it is made. The node keeps its SHA-256: that is enough for a word that cannot be guessed,
and the word cannot be had back from it. The prefix lets scanners find words that were committed by mistake.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

from penstock.security.principal import Principal

PREFIX: Final = "pst_"
WORD_BYTES: Final = 32
ID_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """`token_id` names it in lists and commands, `name` says what it is for. Times are those of the wall clock."""

    token_id: str
    principal: Principal
    name: str
    created_ms: int
    expires_ms: int
    digest: bytes = field(repr=False)


def new_word() -> str:
    return PREFIX + secrets.token_urlsafe(WORD_BYTES)


def new_token_id() -> str:
    return secrets.token_hex(ID_BYTES)


def digest_of(word: bytes) -> bytes:
    return hashlib.sha256(word).digest()
