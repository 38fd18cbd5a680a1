"""Sets of the characters that names of topics have, as elements of a pattern.

There are 65 of them. So an element that stands for one character, from `.` to `[a-z&&[^aeiou]]`, is the set of those
that it accepts, and its case, its Unicode and its nesting are settled here.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

Accepts = Callable[[str], bool]
"""Whether a character is accepted."""

OF_NAMES = string.ascii_letters + string.digits + "._-"
"""Every character that the name of a topic may have."""
NEVER = "(?!)"
"""An element that nothing matches."""


def element(accepts: Accepts) -> str:
    """One character, in Python's syntax."""
    found = [char for char in OF_NAMES if accepts(char)]
    if not found:
        return NEVER
    return "." if len(found) == len(OF_NAMES) else f"[{''.join(map(re.escape, found))}]"


def single(char: str, flags: frozenset[str]) -> Accepts:
    if "i" not in flags:
        return lambda each: each == char
    if "u" in flags:
        return lambda each: _folded(each) == _folded(char)
    return lambda each: each == char or (char.isascii() and each.lower() == char.lower())


def span(first: str, last: str, flags: frozenset[str]) -> Accepts:
    def accepts(each: str) -> bool:
        forms = {each, each.upper(), each.lower()} if "i" in flags else {each}
        return any(first <= form <= last for form in forms)

    return accepts


def negated(accepts: Accepts) -> Accepts:
    return lambda each: not accepts(each)


def either(one: Accepts, other: Accepts) -> Accepts:
    return lambda each: one(each) or other(each)


def both(one: Accepts, other: Accepts) -> Accepts:
    return lambda each: one(each) and other(each)


def _folded(char: str) -> str:
    upper = char.upper()
    lower = (upper if len(upper) == 1 else char).lower()
    return lower if len(lower) == 1 else char
