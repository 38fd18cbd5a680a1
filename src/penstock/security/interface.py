"""The contracts of authenticators and authorizers that other packages add, by entry points.

    penstock.authenticator   `MakeAuthenticator`: checks the passwords of PLAIN, of AUTHENTICATE with PLAIN and of HTTP
    penstock.authorizer      `MakeAuthorizer`: decides in place of the rules

Both are made once, when the node starts, with the options of the settings; an exception then ends the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from penstock.security.authorizer import Authorizer
from penstock.security.principal import Principal


class PasswordAuthenticator(Protocol):
    """One for a node. Called in threads, several at a time."""

    def authenticate(self, user: str, password: str) -> Principal | None:
        """The principal of a user with this password; None if there is no such user, or the password is wrong.

        May wait for another system, as long as `security.authenticator_timeout_ms` allows. An exception, and an answer
        that is no Principal, is a refusal. Neither the name nor the password is empty.
        """
        ...


MakeAuthenticator = Callable[[Mapping[str, str]], PasswordAuthenticator]
MakeAuthorizer = Callable[[Mapping[str, str]], Authorizer]
