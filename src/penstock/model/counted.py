"""Parts of messages for people: numbers with their nouns, and a problem with its remedy."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return the number with the noun in singular or plural; `plural` is for nouns that take more than an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def with_hint(message: str, hint: str, separator: str = "; ") -> str:
    """Join a problem and its remedy; the problem may be a sentence of another program, with its full stop."""
    return f"{message.rstrip('.')}{separator}{hint}" if hint else message
