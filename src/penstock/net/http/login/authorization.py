"""The header `Authorization` of a request: a scheme, and what the client shows under it.

Basic    base64 of name ":" password (RFC 7617), both in UTF-8
Bearer   a token (RFC 6750)
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.security.authenticator import AuthenticationFailed

BASIC: Final = "basic"
BEARER: Final = "bearer"
_NAME: Final = b"authorization"


class Authorization(NamedTuple):
    """`scheme` is in lower case. `value` stays out of logs and tracebacks."""

    scheme: str
    value: bytes

    def __repr__(self) -> str:
        return f"Authorization({self.scheme!r})"


def authorization_in(headers: Iterable[tuple[bytes, bytes]]) -> Authorization | None:
    """The credentials of a request, None without any. AuthenticationFailed if it has them twice."""
    given = [value for name, value in headers if name == _NAME]
    if not given:
        return None
    if len(given) > 1:
        raise AuthenticationFailed("a request has one Authorization header")
    scheme, _, value = given[0].strip().partition(b" ")
    return Authorization(scheme.decode("latin-1").lower(), value.strip())


def plain_message(value: bytes) -> bytes:
    """The value of Basic as the message of SASL PLAIN; empty, which no machine takes, if it is not one."""
    try:
        name, colon, password = base64.b64decode(value, validate=True).partition(b":")
    except binascii.Error:
        return b""
    return b"\0".join((b"", name, password)) if colon else b""
