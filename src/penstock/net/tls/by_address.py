"""Handshakes by the addresses that they come from: a crowd of one address takes turns with everybody else.

An address stands for its source (`model.text.address`): a host has a whole network of IPv6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class OfSource(Protocol):
    @property
    def source(self) -> str: ...


Item = TypeVar("Item", bound=OfSource)


class ByAddress(Generic[Item]):
    """Items in the order in which they came, for each source; the source that had its turn longest ago is the first."""

    def __init__(self) -> None:
        self._by_source: dict[str, dict[Item, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item: Item) -> bool:
        return item in self._by_source.get(item.source, ())

    def __iter__(self) -> Iterator[Item]:
        for items in self._by_source.values():
            yield from items

    @property
    def sources(self) -> Iterable[str]:
        return self._by_source.keys()

    def count(self, source: str) -> int:
        return len(self._by_source.get(source, ()))

    def first_of(self, source: str) -> Item:
        """The item of a source that came first; there has to be one."""
        return next(iter(self._by_source[source]))

    def largest(self) -> str:
        """The source that has most items; there has to be one."""
        return max(self._by_source, key=self.count)

    def add(self, item: Item) -> None:
        self._by_source.setdefault(item.source, {})[item] = None
        self._count += 1

    def discard(self, item: Item) -> bool:
        """Take an item out. False if it is not here."""
        items = self._by_source.get(item.source, {})
        if item not in items:
            return False
        del items[item]
        self._count -= 1
        if not items:
            del self._by_source[item.source]
        return True

    def take(self, source: str) -> Item:
        """Take out the first item of a source, whose next turn is behind that of all others."""
        items = self._by_source.pop(source)
        item = next(iter(items))
        del items[item]
        self._count -= 1
        if items:
            self._by_source[source] = items
        return item
