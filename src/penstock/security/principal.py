"""The name under which a client acts, as Kafka writes it: a type and a name, `User:alice`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Principal:
    """`User` is the type of everybody who logs in; other types come with the authenticators that know them."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS: Final = Principal("User", "ANONYMOUS")
"""Kafka's principal of a client on a listener that asks for no authentication."""
