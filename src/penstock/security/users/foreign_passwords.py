"""Passwords that an authenticator of another package checks, such as one that asks a directory.

Whatever it does, a login that it does not answer with a principal is a refusal. Its exceptions are told by their type
and place: their text may have the password in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.security.principal import Principal
from penstock.security.sasl.machine import Attempt, Done, Failed
from penstock.security.users.passwords import WRONG

if TYPE_CHECKING:
    from penstock.security.interface import PasswordAuthenticator
    from penstock.security.users.password_cache import PasswordCache

TYPE_CHARACTERS_MAX: Final = 100


class ForeignPasswords:
    """Implements Passwords. `name` is that of the authenticator in the settings."""

    def __init__(self, authenticator: PasswordAuthenticator, name: str, cache: PasswordCache[Principal] | None) -> None:
        self._authenticator = authenticator
        self._name = name
        self._cache = cache

    def attempt(self, user: str, password: str) -> Attempt:
        return _ForeignPassword(user, password, self)

    def remembered(self, user: str, password: str, now: float) -> Done | None:
        known = None if self._cache is None else self._cache.find(user, password, now)
        return None if known is None else Done(user, principal=known)

    def check(self, user: str, password: str, now: float) -> Done | Failed:
        try:
            found: Any = self._authenticator.authenticate(user, password)
        except Exception as error:  # whatever a foreign module raises
            return Failed(f"the authenticator {self._name} failed: {_place(error)}", WRONG)
        if found is None:
            return Failed("wrong credentials", WRONG)
        if not isinstance(found, Principal) or not all(found) or not found.type.isalnum():
            kind = type(found).__name__[:TYPE_CHARACTERS_MAX]
            return Failed(f"the authenticator {self._name} failed: its answer is no principal, but {kind}", WRONG)
        if self._cache is not None:
            self._cache.remember(user, password, found, now)
        return Done(user, principal=found)


class _ForeignPassword:
    is_slow = True

    def __init__(self, user: str, password: str, passwords: ForeignPasswords) -> None:
        self.user = user
        self._password = password
        self._passwords = passwords

    def remembered(self, now: float) -> Done | None:
        return self._passwords.remembered(self.user, self._password, now)

    def check(self, now: float) -> Done | Failed:
        return self._passwords.check(self.user, self._password, now)

    def is_current(self) -> bool:
        return True  # only the other system knows


def _place(error: BaseException) -> str:
    """The type of an exception, and where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    kind = type(error).__name__[:TYPE_CHARACTERS_MAX]
    if trace is None:
        return kind
    return f"{kind} in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
