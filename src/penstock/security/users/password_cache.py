"""Passwords that were found right a moment ago, so that a client with many connections is checked once.

An entry holds for the credential that it was checked against: with the credential changed or removed it is worth
nothing. Of the password there is a hash under a key that ends with the process.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Final, NamedTuple

from penstock.security.users.credential import ScramCredential

KEPT_SECONDS: Final = 60.0
ENTRIES_MAX: Final = 10_000


class _Entry(NamedTuple):
    digest: bytes
    credential: ScramCredential
    until: float


class PasswordCache:
    """One entry for a user. Any thread: each method reads or writes the table once."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._entries: dict[str, _Entry] = {}

    def knows(self, user: str, password: str, credential: ScramCredential, now: float) -> bool:
        entry = self._entries.get(user)
        if entry is None or entry.credential is not credential or now >= entry.until:
            return False
        return hmac.compare_digest(entry.digest, self._digest(password))

    def remember(self, user: str, password: str, credential: ScramCredential, now: float) -> None:
        if user not in self._entries and len(self._entries) >= ENTRIES_MAX:
            self._entries.clear()  # each is made again with the next login of its user
        self._entries[user] = _Entry(self._digest(password), credential, now + KEPT_SECONDS)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")
