"""Numbers with their nouns in messages for people: "1 partition", "3 partitions"."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with the noun in singular or plural; `plural` is for nouns that take more than an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
