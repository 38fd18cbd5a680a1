"""PLAIN (RFC 4616): a name and a password in one message.

    [authorization id] NUL name NUL password

The password is checked against the same credentials as SCRAM's. A name that is no user's takes the same work.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from penstock.model.limits import PLAIN_MESSAGE_BYTES_MAX
from penstock.security.sasl.machine import Done, Failed
from penstock.security.users.credential import salted_password, stored_key

if TYPE_CHECKING:
    from penstock.security.sasl.machine import Step
    from penstock.security.users.password_cache import PasswordCache
    from penstock.security.users.table import UserTable

PLAIN: Final = "PLAIN"
_WRONG: Final = "Authentication failed: Invalid username or password"


class PlainMachine:
    """One login: one message."""

    def __init__(self, users: UserTable, cache: PasswordCache) -> None:
        self._users = users
        self._cache = cache
        self._is_used = False

    def step(self, message: bytes, now: float) -> Step:
        if self._is_used:
            return Failed("a message too many")
        self._is_used = True
        if len(message) > PLAIN_MESSAGE_BYTES_MAX:
            return Failed("a message that is too long", _WRONG)
        try:
            parts = message.decode().split("\0", 3)
        except UnicodeDecodeError:
            return Failed("a message that is not text", _WRONG)
        if len(parts) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            return Failed("a message that has not three parts", told)
        authorization_id, user, password = parts
        return self._named(authorization_id, user, password, now)

    def _named(self, authorization_id: str, user: str, password: str, now: float) -> Step:
        if not user:
            return Failed("no user name", "Authentication failed: username not specified")
        if not password:
            return Failed("no password", "Authentication failed: password not specified")
        if authorization_id not in ("", user):
            return Failed(
                "the authorization id of another user",
                "Authentication failed: Client requested an authorization id that is different from username",
            )
        _, credential = self._users.credential_of_password(user)
        if self._cache.knows(user, password, credential, now):
            return Done(user)
        return _Password(user, password, self._users, self._cache)


class _Password:
    """A password that is to be checked."""

    is_slow = True

    def __init__(self, user: str, password: str, users: UserTable, cache: PasswordCache) -> None:
        self.user = user
        self._password = password
        self._users = users
        self._mechanism, self._credential = users.credential_of_password(user)
        self._cache = cache

    def check(self, now: float) -> Done | Failed:
        mechanism, credential = self._mechanism, self._credential
        salted = salted_password(mechanism, self._password.encode(), credential.salt, credential.iterations)
        if not hmac.compare_digest(stored_key(mechanism, salted), credential.stored_key):
            return Failed("wrong credentials", _WRONG)
        self._cache.remember(self.user, self._password, credential, now)
        return Done(self.user)

    def is_current(self) -> bool:
        return self._users.credential_of_password(self.user)[1] is self._credential
