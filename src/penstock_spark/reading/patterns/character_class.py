"""Classes of characters in brackets, with the unions and intersections of Java: `[a-z&&[^aeiou]_]`.

The order of steps is that of java.util.regex, on which the meaning of odd classes depends.
"""

from __future__ import annotations

from penstock_spark.reading.patterns.characters import Accepts, both, either, negated, single, span
from penstock_spark.reading.patterns.cursor import Cursor
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible
from penstock_spark.reading.patterns.escapes import character_or_set


class CharacterClass:
    """A class that is being read. `_singles` are its plain characters, which join the others at `&&` and at the end."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._singles: list[Accepts] = []
        self._has_singles = False
        self._found: Accepts | None = None

    def read(self, *, takes_bracket: bool = True) -> Accepts:
        """The class whose `[`, or what stands before its first character, is at the cursor."""
        cursor, is_negated = self._cursor, False
        char = cursor.next()
        while True:
            if char == "^" and cursor.plain(-1) == "[" and not is_negated:
                char, is_negated = cursor.next(), True
                continue
            if char == "[":
                self._join(CharacterClass(cursor).read())
            elif char == "&" and cursor.plain(1) == "&":
                self._intersect()
            elif char == "]" and (self._found is not None or self._has_singles):
                return self._finished(is_negated, takes_bracket)
            elif cursor.is_at_end:
                raise NotAPattern("a class of characters is not closed by ]")
            else:
                self._range()
            char = cursor.peek()

    def _finished(self, is_negated: bool, takes_bracket: bool) -> Accepts:
        if takes_bracket:
            self._cursor.next()
        self._join_singles()
        assert self._found is not None
        return negated(self._found) if is_negated else self._found

    def _join(self, more: Accepts) -> None:
        self._found = more if self._found is None else either(self._found, more)

    def _join_singles(self) -> None:
        if self._has_singles:
            singles = self._singles
            self._join(lambda each: any(accepts(each) for accepts in singles))
            self._has_singles = False

    def _intersect(self) -> None:
        cursor, right = self._cursor, None
        cursor.next()
        char = cursor.next()
        while char not in "]&":
            if cursor.is_at_end:
                raise NotAPattern("a class of characters is not closed by ]")
            if char == "[":
                nested = CharacterClass(cursor).read()
                right = nested if right is None else either(right, nested)
            else:
                cursor.skip(-1)
                right = CharacterClass(cursor).read(takes_bracket=False)
            char = cursor.peek()
        self._join_singles()
        if right is None:
            raise NotPossible("&& with nothing behind it")  # at which Java itself may stumble
        self._found = right if self._found is None else both(self._found, right)

    def _range(self) -> None:
        """One character, one set behind a backslash, or a range of characters."""
        cursor = self._cursor
        first = self._bound(is_first=True)
        if not isinstance(first, str):
            self._join(first)
            return
        if cursor.peek() == "-" and cursor.plain(1) not in "[]":
            cursor.next()
            last = self._bound(is_first=False)
            if not isinstance(last, str) or last < first:
                raise NotAPattern("a range of characters ends before it begins")
            self._join(span(first, last, cursor.flags))
            return
        self._singles.append(single(first, cursor.flags))
        self._has_singles = True

    def _bound(self, *, is_first: bool) -> str | Accepts:
        cursor = self._cursor
        if cursor.peek() == "\\":
            return character_or_set(cursor, in_range=not is_first or cursor.plain(2) == "-")
        if cursor.is_at_end:
            raise NotAPattern("a class of characters is not closed by ]")
        found = cursor.plain()
        cursor.next()
        return found
