r"""A regular expression of Java as one of Python that finds the same in names of topics.

    sequences, `|`, groups of every kind, quantifiers      the same, in Python's syntax
    what stands for one character                          the characters of topic names among those that it accepts
    `^` `$` `\A` `\z` `\Z` `\G` `\b` `\B`                  begin, end and edges of words: a name is one line
    `\Q…\E`, flags, comments                               settled while it is read

What Python cannot do is refused by name: a look-behind whose length varies, and a reference to a group that is not
closed yet. It is no matcher of other texts.
"""

from __future__ import annotations

import re
from functools import lru_cache

from penstock_spark.reading.patterns.character_class import CharacterClass
from penstock_spark.reading.patterns.characters import NEVER, element, single
from penstock_spark.reading.patterns.cursor import END, Cursor
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible
from penstock_spark.reading.patterns.escapes import character_or_set

_EDGES = {"A": r"\A", "z": r"\Z", "Z": r"\Z", "G": r"\A", "b": r"\b", "B": r"\B", "R": NEVER, "X": "."}
_FLAGS = "idmsuxU"
_REPEATS_MAX = (1 << 31) - 1
_CAPTURED, _PLAIN, _BEHIND = "(", "(?:", ("(?<=", "(?<!")
_VARYING = "a look-behind whose length varies"


@lru_cache(maxsize=64)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern in Python. NotAPattern if Java would not compile it, NotPossible if it cannot be done here."""
    made = _Reader(pattern).everything()
    try:
        return re.compile(made)
    except re.error as error:
        what = _VARYING if "look-behind" in error.msg else error.msg
        raise NotPossible(what) from None
    except (OverflowError, RecursionError):
        raise NotPossible("as much nesting or repetition") from None


class _Reader:
    """Reads a pattern from left to right and writes the one of Python."""

    def __init__(self, pattern: str) -> None:
        self._cursor = Cursor(pattern)
        self._opened = 0
        self._closed: set[int] = set()
        self._names: dict[str, int] = {}
        self._behind = 0  # the number of look-behinds around
        self._unknown: set[int] = set()  # groups that were referred to before they were opened

    def everything(self) -> str:
        try:
            made = "|".join(self._branches())
        except RecursionError:
            raise NotPossible("as much nesting") from None
        if not self._cursor.is_at_end:
            raise NotAPattern("a ) closes no group")
        if any(number <= self._opened for number in self._unknown):
            raise NotPossible("a reference to a group that is not closed before it")
        return made

    def _branches(self) -> list[str]:
        found = [self._sequence()]
        while self._cursor.peek() == "|" and not self._cursor.is_at_end:
            self._cursor.next()
            found.append(self._sequence())
        return found

    def _sequence(self) -> str:
        made, cursor = [], self._cursor
        while (char := cursor.peek()) not in "|)" and not cursor.is_at_end:
            if char == "(":
                made.append(self._group())
            elif char in "?*+":
                raise NotAPattern(f"{char} has nothing to repeat")
            else:
                made.append(self._repeated(self._atom(char)))
        return "".join(made)

    def _atom(self, char: str) -> str:
        cursor = self._cursor
        match char:
            case "[":
                return element(CharacterClass(cursor).read())
            case "\\":
                return self._escape()
            case "{":
                return ""  # a repetition of nothing
            case "^" | "$" | ".":
                cursor.next()
                return {"^": r"\A", "$": r"\Z"}.get(char, ".")
        cursor.next()
        return element(single(char, cursor.flags))

    def _repeated(self, atom: str) -> str:
        """The atom with the quantifier that follows it."""
        cursor = self._cursor
        char = cursor.peek()
        if char == END or char not in "?*+{":
            return atom
        count = self._count() if char == "{" else char
        if char != "{":
            cursor.next()
        if self._behind and count.endswith(("*", "+", ",}")):
            raise NotPossible(_VARYING)
        match cursor.peek():
            case "?":
                cursor.next()
                return f"(?:{atom}){count}?"
            case "+":
                cursor.next()
                return f"(?>(?>{atom}){count})"  # in Java each repetition keeps what it has, too
        return f"(?:{atom}){count}"

    def _count(self) -> str:
        cursor = self._cursor
        cursor.skip()
        if not (cursor.plain().isascii() and cursor.plain().isdecimal()):
            raise NotAPattern("{ is followed by no number: \\{ is the character")
        least = most = cursor.number() or 0
        if cursor.peek() == ",":
            cursor.next()
            most = found if (found := cursor.number()) is not None else _REPEATS_MAX
        cursor.accept("}", "a repetition is not closed by }")
        if not least <= most <= _REPEATS_MAX:
            raise NotAPattern(f"there is no repetition from {least} to {most}")
        return f"{{{least},}}" if most == _REPEATS_MAX else f"{{{least},{most}}}"

    # --- escapes and references --------------------------------------------------------------------------------------

    def _escape(self) -> str:
        cursor = self._cursor
        kind = cursor.plain(1)
        if kind in _EDGES and kind != END:
            cursor.skip(2)
            if kind == "b" and cursor.peek() == "{":
                raise NotPossible("\\b{g}, the edge of what a reader takes for one character")
            if kind == "X" and self._behind:
                raise NotPossible(_VARYING)
            return _EDGES[kind]
        if kind in "123456789" and kind != END:
            cursor.skip(2)
            return self._reference(self._group_number(int(kind)))
        if kind == "k":
            cursor.skip(2)
            cursor.accept("<", "\\k is followed by a name in < and >")
            name = self._name()
            if name not in self._names:
                raise NotAPattern(f"there is no group {name} before \\k<{name}>")
            return self._reference(self._names[name])
        found = character_or_set(cursor)
        return element(single(found, cursor.flags) if isinstance(found, str) else found)

    def _group_number(self, number: int) -> int:
        """More digits belong to the number while there are as many groups."""
        cursor = self._cursor
        while (digit := cursor.peek()).isascii() and digit.isdecimal() and number * 10 + int(digit) <= self._opened:
            number = number * 10 + int(cursor.read())
        return number

    def _reference(self, number: int) -> str:
        if number > self._opened:
            self._unknown.add(number)
            return NEVER
        if number not in self._closed:
            raise NotPossible("a reference to a group that is not closed before it")
        return f"(?i:\\{number})" if "i" in self._cursor.flags else f"(?:\\{number})"

    # --- groups ------------------------------------------------------------------------------------------------------

    def _group(self) -> str:
        cursor = self._cursor
        before = cursor.flags
        cursor.next()
        opening, number = self._opening()
        if not opening:
            return ""  # only flags, which hold to the end of the group around them
        self._behind += opening in _BEHIND
        branches = self._branches()
        self._behind -= opening in _BEHIND
        cursor.accept(")", "a group is not closed by )")
        cursor.flags = before
        if opening == _CAPTURED:
            self._closed.add(number)
        return self._repeated(_closed(opening, branches))

    def _opening(self) -> tuple[str, int]:
        """How the group begins in Python, and its number; empty for flags alone."""
        cursor = self._cursor
        if cursor.peek() != "?":
            self._opened += 1
            return _CAPTURED, self._opened
        cursor.skip()
        kind = cursor.plain()
        if kind in ":=!>" and kind != END:
            cursor.skip()
            return f"(?{kind}", 0
        if kind == "<":
            cursor.skip()
            return self._behind_or_named()
        return self._flagged(), 0

    def _behind_or_named(self) -> tuple[str, int]:
        cursor = self._cursor
        if (kind := cursor.plain()) in ("=", "!"):
            cursor.skip()
            return f"(?<{kind}", 0
        name = self._name()
        if name in self._names:
            raise NotAPattern(f"two groups are called {name}")
        self._opened += 1
        self._names[name] = self._opened
        return _CAPTURED, self._opened

    def _name(self) -> str:
        name = self._cursor.until(">", "the name of a group is not closed by >")
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise NotAPattern(f"{name!r} is no name of a group: it has letters and digits")
        return name

    def _flagged(self) -> str:
        cursor, adds = self._cursor, True
        while (letter := cursor.peek()) in (*_FLAGS, "-"):
            if letter == "-":
                if not adds:
                    break
                adds = False
            else:
                more = {"U", "u"} if letter == "U" else {letter}
                cursor.flags = cursor.flags | more if adds else cursor.flags - more
            cursor.next()
        end = cursor.read()
        if end not in ")" and end != ":":
            raise NotAPattern(f"there is no group that begins with (?{letter}")
        return _PLAIN if end == ":" else ""


def _closed(opening: str, branches: list[str]) -> str:
    """A group. The branches of a look-behind may have different lengths, but each has one."""
    if opening == "(?<=":
        return f"(?:{'|'.join(f'(?<={branch})' for branch in branches)})"
    if opening == "(?<!":
        return "".join(f"(?<!{branch})" for branch in branches)
    return f"{opening}{'|'.join(branches)})"
