"""The meaning of another system's name here: a setting, or nothing.

A name without effect is still checked, since it may have one later, and the user is warned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Values(NamedTuple):
    """The values that a name without a setting accepts."""

    text: str
    allowed: Callable[[object], bool]


def truth(value: object) -> bool | None:
    """The value as a boolean; None if it is neither yes nor no."""
    meanings = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return meanings.get(str(value).strip().lower())


def _number(value: object) -> int:
    """The value as a number, -1 for anything but a whole number. A value of ${NAME} is text."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _is_address(value: object) -> bool:
    match = re.fullmatch(r"(\w+://)?[^\s/:]+:(\d{1,5})", str(value).strip())
    return match is not None and 0 < int(match[2]) < 65536


PORT = Values("a port, 0 to 65535", lambda value: 0 <= _number(value) <= 65535)
COUNT = Values("a number, 1 or more", lambda value: _number(value) >= 1)
TEXT = Values("text", lambda value: isinstance(value, str) and bool(value.strip()))
YES_OR_NO = Values("true or false", lambda value: truth(value) is not None)
ADDRESS = Values("host:port", _is_address)


@dataclass(frozen=True, slots=True)
class Becomes:
    """One or several settings that get the value; `value` converts it. `note` is for the documentation."""

    settings: tuple[str, ...]
    value: Callable[[object], object] = lambda value: value
    note: str = ""


@dataclass(frozen=True, slots=True)
class NoEffect:
    """No effect; `reason` says what happens instead. The value `usual` asks for the existing behaviour."""

    values: Values
    reason: str
    usual: object = None


Entry = Becomes | NoEffect
