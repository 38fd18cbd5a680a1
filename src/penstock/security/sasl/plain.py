"""PLAIN (RFC 4616): a name and a password in one message.

    [authorization id] NUL name NUL password

The password is checked by the node's own users (`security.users.passwords`), or by an authenticator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.model.limits import PLAIN_MESSAGE_BYTES_MAX
from penstock.security.sasl.machine import Failed
from penstock.security.users.passwords import WRONG

if TYPE_CHECKING:
    from penstock.security.sasl.machine import Step
    from penstock.security.users.passwords import Passwords

PLAIN: Final = "PLAIN"


class PlainMachine:
    """One login: one message."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords
        self._is_used = False

    def step(self, message: bytes, now: float) -> Step:
        if self._is_used:
            return Failed("a message too many")
        self._is_used = True
        if len(message) > PLAIN_MESSAGE_BYTES_MAX:
            return Failed("a message that is too long", WRONG)
        try:
            parts = message.decode().split("\0", 3)
        except UnicodeDecodeError:
            return Failed("a message that is not text", WRONG)
        if len(parts) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}"
            return Failed("a message that has not three parts", told)
        authorization_id, user, password = parts
        return self._named(authorization_id, user, password)

    def _named(self, authorization_id: str, user: str, password: str) -> Step:
        if not user:
            return Failed("no user name", "Authentication failed: username not specified")
        if not password:
            return Failed("no password", "Authentication failed: password not specified")
        if authorization_id not in ("", user):
            return Failed(
                "the authorization id of another user",
                "Authentication failed: Client requested an authorization id that is different from username",
            )
        return self._passwords.attempt(user, password)
