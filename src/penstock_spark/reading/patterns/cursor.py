"""A position in a regular expression of Java: what comes next, with comments and white space left out if it says so.

The steps are those of java.util.regex, one by one, because what they skip decides what odd patterns mean.
"""

from __future__ import annotations

from penstock_spark.reading.patterns.errors import NotAPattern

END = "\0"
"""What follows the last character."""
_SPACE, _LINE_ENDS = " \t\n\r\f\v", "\n\r\x85\u2028\u2029"


class Cursor:
    """The position. `flags` are the letters that hold from here on, such as `i` and `x`."""

    def __init__(self, pattern: str) -> None:
        self._text = _unquoted(pattern) + END + END
        self._size = len(self._text) - 2
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    @property
    def is_at_end(self) -> bool:
        return self.at >= self._size

    def plain(self, distance: int = 0) -> str:
        """The character at a distance, whatever it is."""
        place = self.at + distance
        return self._text[place] if 0 <= place < len(self._text) else END

    def peek(self) -> str:
        if "x" in self.flags:
            self._skip_space()
        return self.plain()

    def next(self) -> str:
        """Move on, and look at what is there."""
        self.at += 1
        return self.peek()

    def read(self) -> str:
        """Take one character and move behind it."""
        found = self.peek()
        self.at += 1
        return found

    def skip(self, count: int = 1) -> None:
        self.at += count

    def accept(self, wanted: str, otherwise: str) -> None:
        if self.read() != wanted:
            raise NotAPattern(otherwise)

    def number(self) -> int | None:
        """The decimal number here; None if there is none."""
        digits = ""
        while self.peek().isdecimal() and self.peek().isascii():
            digits += self.read()
        return int(digits) if digits else None

    def until(self, end: str, otherwise: str) -> str:
        """The text before `end`; the position is behind it then."""
        stop = self._text.find(end, self.at, self._size)
        if stop < 0:
            raise NotAPattern(otherwise)
        found, self.at = self._text[self.at : stop], stop + 1
        return found

    def _skip_space(self) -> None:
        while not self.is_at_end and (self.plain() in _SPACE or self.plain() == "#"):
            is_comment = self.plain() == "#"
            self.at += 1
            while is_comment and not self._is_at_line_end():
                self.at += 1

    def _is_at_line_end(self) -> bool:
        return self.is_at_end or self.plain() in _LINE_ENDS


def _unquoted(pattern: str) -> str:
    r"""The pattern without \Q…\E: what is quoted has a backslash before each sign instead."""
    made, at = [], 0
    while at < len(pattern):
        if pattern.startswith("\\Q", at):
            end = pattern.find("\\E", at + 2)
            quoted = pattern[at + 2 : end if end >= 0 else len(pattern)]
            made += [_literal(char, is_first=not index) for index, char in enumerate(quoted)]
            at = end + 2 if end >= 0 else len(pattern)
        elif pattern[at] == "\\":
            made.append(pattern[at : at + 2])
            at += 2
        else:
            made.append(pattern[at])
            at += 1
    return "".join(made)


def _literal(char: str, *, is_first: bool) -> str:
    if char.isascii() and char.isdecimal():
        return f"\\x3{char}" if is_first else char  # not a digit of what stands before the quotation
    return char if char.isalpha() else f"\\{char}"
