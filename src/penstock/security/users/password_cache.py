"""Passwords that were found right a moment ago, so that a client with many connections is checked once.

An entry has what the password was found right for: the credential that it was checked against, or the principal that
another system has named. Of the password there is a hash under a key that ends with the process.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Final, Generic, NamedTuple, TypeVar

KEPT_SECONDS: Final = 60.0
ENTRIES_MAX: Final = 10_000

Found = TypeVar("Found")


class _Entry(NamedTuple, Generic[Found]):
    digest: bytes
    found: Found
    until: float


class PasswordCache(Generic[Found]):
    """One entry for a user. Any thread: each method reads or writes the table once."""

    def __init__(self, kept_seconds: float = KEPT_SECONDS) -> None:
        self._kept_seconds = kept_seconds
        self._key = secrets.token_bytes(32)
        self._entries: dict[str, _Entry[Found]] = {}

    def find(self, user: str, password: str, now: float) -> Found | None:
        entry = self._entries.get(user)
        if entry is None or now >= entry.until or not hmac.compare_digest(entry.digest, self._digest(password)):
            return None
        return entry.found

    def remember(self, user: str, password: str, found: Found, now: float) -> None:
        if user not in self._entries and len(self._entries) >= ENTRIES_MAX:
            self._entries.clear()  # each is made again with the next login of its user
        self._entries[user] = _Entry(self._digest(password), found, now + self._kept_seconds)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")
