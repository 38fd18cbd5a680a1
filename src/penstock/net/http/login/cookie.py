"""The cookie of a browser's session.

Scripts cannot read it (HttpOnly), and it is sent with requests of the port's own pages only (SameSite=Strict). Under
TLS its name has the prefix `__Host-`: browsers then take it from this host alone, and never without encryption.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NAME: Final = "penstock-session"
SECURE_PREFIX: Final = "__Host-"


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The cookie of a port; `is_secure` if the port has TLS."""

    is_secure: bool

    @property
    def name(self) -> str:
        return f"{SECURE_PREFIX}{NAME}" if self.is_secure else NAME

    def header(self, word: str, seconds: int) -> str:
        """The value of Set-Cookie; with an empty word and 0 seconds the browser forgets it."""
        secure = "; Secure" if self.is_secure else ""
        return f"{self.name}={word}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"

    def word_in(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
        wanted = self.name.encode()
        for header, value in headers:
            if header == b"cookie":
                for pair in value.split(b";"):
                    name, equals, word = pair.strip().partition(b"=")
                    if equals and name == wanted:
                        return word
        return None
