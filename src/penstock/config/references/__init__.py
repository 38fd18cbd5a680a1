"""The names that other systems use for settings: a table for each system, and the translation of their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from penstock.config.given_value import GivenValue, Problems
from penstock.config.references import cluster, kafka, message_broker, provider, server
from penstock.config.references.entry import Becomes, Entry, NoEffect, truth
from penstock.config.shown_value import shown

TABLES: Mapping[str, Mapping[str, Entry]] = {
    "provider": provider.KEYS,
    "message broker": message_broker.KEYS,
    "cluster": cluster.KEYS,
    "server": server.KEYS,
    "kafka": kafka.KEYS,
}
# Weakest first: where two of them set the same, the later one wins.
VARIABLES: Mapping[str, str] = {**message_broker.VARIABLES, **provider.VARIABLES}


def canonical(name: str) -> str:
    """The canonical form of a name: dashes and underscores are the same."""
    return name.replace("-", "_")


NAMES: Mapping[str, str] = {canonical(name): name for table in TABLES.values() for name in table}
"""The names as their own systems write them, by their canonical form."""
ENTRIES: Mapping[str, Entry] = {canonical(name): each for table in TABLES.values() for name, each in table.items()}


class Ignored(NamedTuple):
    """A value without effect, and the reason; it is worth a warning unless that is `expected`."""

    name: str
    value: object
    origin: str
    reason: str
    expected: bool

    def __str__(self) -> str:
        return f"{self.origin}: {self.value} has no effect: {self.reason}"


def resolved(given: Iterable[GivenValue], problems: Problems, ignored: list[Ignored]) -> Iterator[GivenValue]:
    """The values under names of our settings; problems and values without effect go into the two lists."""
    for item in given:
        entry = ENTRIES.get(item.key)
        if entry is None:
            yield item
        elif isinstance(entry, Becomes):
            value = entry.value(item.value)
            yield from (GivenValue(setting, value, item.origin) for setting in entry.settings)
        elif not entry.values.allowed(item.value):
            problems.append(f"{item.origin} is {shown(item.key, item.value)!r}, but should be {entry.values.text}")
        else:
            ignored.append(_without_effect(item, entry))


def _without_effect(item: GivenValue, entry: NoEffect) -> Ignored:
    """A value without effect. If it asks for the usual behaviour, it needs no warning."""
    usual = entry.usual
    expected = usual is not None and (item.value == usual or truth(item.value) is usual)
    return Ignored(NAMES[item.key], shown(item.key, item.value), item.origin, entry.reason, expected)
