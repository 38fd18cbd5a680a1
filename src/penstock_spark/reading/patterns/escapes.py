r"""What stands behind a backslash, in a class or outside: a character, or a set of them."""

from __future__ import annotations

import string
import unicodedata

from penstock_spark.reading.patterns.characters import Accepts, negated
from penstock_spark.reading.patterns.cursor import Cursor
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible
from penstock_spark.reading.patterns.properties import family

_CONTROLS = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SETS = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " \t\n\v\f\r",
         "h": " \t\xa0", "v": "\n\v\f\r\x85"}  # fmt: skip


def character_or_set(cursor: Cursor, *, in_range: bool = False) -> str | Accepts:
    """The escape at the cursor, which is at its backslash. A text is one character."""
    cursor.skip()
    kind = cursor.plain()
    if kind in "pP":
        return _family(cursor)
    if cursor.is_at_end:
        raise NotAPattern("it ends with a backslash")
    cursor.skip()
    if kind == "v" and in_range:
        return "\v"
    if kind.lower() in _SETS and kind.isascii():
        found = frozenset(_SETS[kind.lower()]).__contains__
        return found if kind.islower() else negated(found)
    if kind in _CONTROLS:
        return _CONTROLS[kind]
    match kind:
        case "0":
            return _octal(cursor)
        case "x":
            return _hexadecimal(cursor)
        case "u":
            return _character(_digits(cursor, 4), 16)
        case "c":
            if cursor.is_at_end:
                raise NotAPattern("\\c is followed by no character")
            return chr(ord(cursor.read()) ^ 64)
        case "N":
            return _named(cursor)
    if kind.isascii() and kind.isalnum():
        raise NotAPattern(f"there is no escape \\{kind}" if kind.isalpha() else f"\\{kind} refers to no group here")
    return kind


def _family(cursor: Cursor) -> Accepts:
    is_negated = cursor.plain() == "P"
    if cursor.next() == "{":
        cursor.skip()
        name = cursor.until("}", "a character property is not closed by }")
    else:
        name = cursor.read()
    found = family(name, any_case="i" in cursor.flags)
    return negated(found) if is_negated else found


def _octal(cursor: Cursor) -> str:
    digits = ""
    while len(digits) < 3 and cursor.peek() in "01234567" and (len(digits) < 2 or digits[0] <= "3"):
        digits += cursor.read()
    return _character(digits, 8)


def _hexadecimal(cursor: Cursor) -> str:
    if cursor.peek() != "{":
        return _character(_digits(cursor, 2), 16)
    cursor.skip()
    return _character(cursor.until("}", "\\x{ is not closed by }"), 16)


def _digits(cursor: Cursor, count: int) -> str:
    return "".join(cursor.read() for _ in range(count))


def _character(digits: str, base: int) -> str:
    try:
        if not digits.isascii() or not digits.isalnum():
            raise ValueError
        return chr(int(digits, base))
    except (ValueError, OverflowError):
        raise NotAPattern(f"{digits!r} is not the number of a character") from None


def _named(cursor: Cursor) -> str:
    cursor.accept("{", "\\N is followed by a name in { and }")
    name = cursor.until("}", "\\N{ is not closed by }")
    try:
        return unicodedata.lookup(name)
    except KeyError:
        raise NotPossible(f"the character {name}, which is not known by this name") from None
