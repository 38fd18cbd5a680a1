"""Passwords of the users that the node itself has, checked against the same credentials as SCRAM's.

A name that is no user's takes the same work.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final, Protocol

from penstock.security.sasl.machine import Attempt, Done, Failed
from penstock.security.users.credential import salted_password, stored_key

if TYPE_CHECKING:
    from penstock.security.users.credential import ScramCredential, ScramMechanism
    from penstock.security.users.password_cache import PasswordCache
    from penstock.security.users.table import UserTable

WRONG: Final = "Authentication failed: Invalid username or password"


class Passwords(Protocol):
    """Whoever knows whether a password is right."""

    def attempt(self, user: str, password: str) -> Attempt:
        """The check of a password."""
        ...


class StoredPasswords:
    def __init__(self, users: UserTable, cache: PasswordCache[ScramCredential]) -> None:
        self._users = users
        self._cache = cache

    def attempt(self, user: str, password: str) -> Attempt:
        mechanism, credential = self._users.credential_of_password(user)
        return _StoredPassword(user, password, self, mechanism, credential)

    def is_remembered(self, user: str, password: str, credential: ScramCredential, now: float) -> bool:
        return self._cache.find(user, password, now) is credential

    def remember(self, user: str, password: str, credential: ScramCredential, now: float) -> None:
        self._cache.remember(user, password, credential, now)

    def is_current(self, user: str, credential: ScramCredential) -> bool:
        return self._users.credential_of_password(user)[1] is credential


class _StoredPassword:
    """A password that is to be checked."""

    is_slow = True

    def __init__(
        self,
        user: str,
        password: str,
        passwords: StoredPasswords,
        mechanism: ScramMechanism,
        credential: ScramCredential,
    ) -> None:
        self.user = user
        self._password = password
        self._passwords = passwords
        self._mechanism = mechanism
        self._credential = credential

    def remembered(self, now: float) -> Done | None:
        is_remembered = self._passwords.is_remembered(self.user, self._password, self._credential, now)
        return Done(self.user) if is_remembered else None

    def check(self, now: float) -> Done | Failed:
        mechanism, credential = self._mechanism, self._credential
        salted = salted_password(mechanism, self._password.encode(), credential.salt, credential.iterations)
        if not hmac.compare_digest(stored_key(mechanism, salted), credential.stored_key):
            return Failed("wrong credentials", WRONG)
        self._passwords.remember(self.user, self._password, credential, now)
        return Done(self.user)

    def is_current(self) -> bool:
        return self._passwords.is_current(self.user, self._credential)
