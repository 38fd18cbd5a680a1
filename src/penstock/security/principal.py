"""The name under which a client acts, as Kafka writes it: a type and a name, `User:alice`."""

from __future__ import annotations

from typing import Final, NamedTuple


class Principal(NamedTuple):
    """A client's identity. `User` is the type of all that log in; authenticators may define other types."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"

    @classmethod
    def of(cls, text: str) -> Principal:
        """The principal that is written like this."""
        kind, _, name = text.partition(":")
        return cls(kind, name)


ANONYMOUS: Final = Principal("User", "ANONYMOUS")
"""Kafka's principal of a client on a listener that asks for no authentication."""
