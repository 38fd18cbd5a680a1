"""The parent in use: the parents that the node was given, in order, and the one that is tried now."""

from __future__ import annotations

from collections.abc import Sequence


class Parents:
    """A ring of parents. When the one in use fails for good the next is tried; after the last, the first."""

    def __init__(self, urls: Sequence[str] = ()) -> None:
        self._urls = tuple(dict.fromkeys(urls))
        self._index = 0

    def __len__(self) -> int:
        return len(self._urls)

    @property
    def current(self) -> str | None:
        return self._urls[self._index] if self._urls else None

    def set(self, urls: Sequence[str]) -> bool:
        """Take the registry's parents and use the first. False if that one is in use already."""
        before = self.current
        self._urls = tuple(dict.fromkeys(urls))
        self._index = 0
        return self.current != before

    def fail_over(self) -> bool:
        """Move to the next parent, if there is another."""
        if len(self._urls) < 2:
            return False
        self._index = (self._index + 1) % len(self._urls)
        return True
