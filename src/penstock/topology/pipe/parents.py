"""Whose child a node is at the moment: the parents that it was told of, in order, and the one that is tried now."""

from __future__ import annotations

from collections.abc import Sequence


class Parents:
    """When the one in use fails for good, the next has its turn; after the last comes the first."""

    def __init__(self, urls: Sequence[str] = ()) -> None:
        self._urls = tuple(dict.fromkeys(urls))
        self._index = 0

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def current(self) -> str | None:
        return self._urls[self._index] if self._urls else None

    def set(self, urls: Sequence[str]) -> bool:
        """The registry has spoken: its first parent is the one to use. False if that is the one in use."""
        before = self.current
        self._urls = tuple(dict.fromkeys(urls))
        self._index = 0
        return self.current != before

    def fail_over(self) -> bool:
        """The next one, if there is another."""
        if len(self._urls) < 2:
            return False
        self._index = (self._index + 1) % len(self._urls)
        return True
