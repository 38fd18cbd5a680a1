"""Positions at which reading starts and ends: earliest, latest, by offset, by time.

An option gives a `Position`; `resolve` turns it into offsets for the partitions that exist.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.client.cluster import Cluster
from penstock.client.offsets import EARLIEST, LATEST, NOT_FOUND, list_offsets
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption

Offsets = dict[TopicPartition, int]


class Position(ABC):
    @abstractmethod
    def resolve(self, cluster: Cluster, places: Iterable[TopicPartition], *, committed: bool) -> Offsets: ...

    @property
    def names_partitions(self) -> bool:
        """Whether the position is given for certain partitions only."""
        return False

    @property
    def is_fixed(self) -> bool:
        """Whether the position is the same whenever it is asked for, unless records age out."""
        return False


@dataclass(frozen=True)
class Edge(Position):
    """EARLIEST or LATEST of all partitions."""

    which: int

    def resolve(self, cluster: Cluster, places: Iterable[TopicPartition], *, committed: bool) -> Offsets:
        return list_offsets(cluster, dict.fromkeys(places, self.which), committed=committed)

    @property
    def is_fixed(self) -> bool:
        return self.which == EARLIEST


@dataclass(frozen=True)
class AtOffsets(Position):
    """An offset, EARLIEST or LATEST for each partition."""

    option: str
    offsets: Mapping[TopicPartition, int]

    def resolve(self, cluster: Cluster, places: Iterable[TopicPartition], *, committed: bool) -> Offsets:
        wanted = _match(self.option, self.offsets, places)
        edges = {place: offset for place, offset in wanted.items() if offset < 0}
        return {**wanted, **list_offsets(cluster, edges, committed=committed)} if edges else dict(wanted)

    @property
    def names_partitions(self) -> bool:
        return True

    @property
    def is_fixed(self) -> bool:
        return LATEST not in self.offsets.values()


@dataclass(frozen=True)
class AtTimes(Position):
    """The first record at or after a time, for each partition or (`everywhere`) for all of them.

    If there is none, an end is the end of the partition; a start is an error, or with `or_latest` the end.
    """

    option: str
    times: Mapping[TopicPartition, int] | None
    everywhere: int = 0
    is_end: bool = False
    or_latest: bool = False

    def resolve(self, cluster: Cluster, places: Iterable[TopicPartition], *, committed: bool) -> Offsets:
        places = list(places)
        times = dict.fromkeys(places, self.everywhere)
        if self.times is not None:
            times = _match(self.option, self.times, places)
        found = list_offsets(cluster, times, committed=committed)
        missing = [place for place, offset in found.items() if offset == NOT_FOUND]
        if missing and not self.is_end and not self.or_latest:
            raise BadOption(
                f"{self.option}: {missing[0]} has no record of {times[missing[0]]} or later; "
                "startingOffsetsByTimestampStrategy=latest starts at its end instead"
            )
        if missing:
            found.update(list_offsets(cluster, dict.fromkeys(missing, LATEST), committed=committed))
        return found

    @property
    def names_partitions(self) -> bool:
        return self.times is not None


def _match(option: str, given: Mapping[TopicPartition, int], places: Iterable[TopicPartition]) -> Offsets:
    """Check that every partition is named and no other, as Spark demands."""
    wanted = set(places)
    missing, unknown = sorted(wanted - given.keys()), sorted(given.keys() - wanted)
    if missing or unknown:
        what = f"does not name {', '.join(map(str, missing))}" if missing else f"names {', '.join(map(str, unknown))}"
        raise BadOption(f"{option} {what}: it must have exactly the partitions that are read")
    return {place: given[place] for place in sorted(wanted)}


# --- parsing ---------------------------------------------------------------------------------------------------------


def parse_offsets(option: str, text: str, *, forbidden: int | None) -> Position:
    """Parse `earliest`, `latest` or JSON. `forbidden` is the edge that makes no sense here."""
    names = {"earliest": EARLIEST, "latest": LATEST}
    word = text.strip().lower()
    if word in names:
        if names[word] == forbidden:
            raise BadOption(f"{option} cannot be {word}")
        return Edge(names[word])
    offsets = _parse_json(option, text, "offset", least=EARLIEST)
    for place, offset in offsets.items():
        if offset == forbidden:
            raise BadOption(f"{option}: {place} cannot be {offset} ({'latest' if offset == LATEST else 'earliest'})")
    return AtOffsets(option, offsets)


def parse_times(option: str, text: str, *, is_end: bool, or_latest: bool) -> Position:
    """Parse JSON with a time in ms for each partition."""
    return AtTimes(option, _parse_json(option, text, "time in ms", least=0), is_end=is_end, or_latest=or_latest)


def parse_time(option: str, text: str, *, is_end: bool, or_latest: bool) -> Position:
    """Parse one time in ms for all partitions."""
    if not text.strip().isdecimal():
        raise BadOption(f"{option} is a time in ms since 1970, not {text!r}")
    return AtTimes(option, None, int(text), is_end=is_end, or_latest=or_latest)


def _parse_json(option: str, text: str, what: str, *, least: int) -> Offsets:
    result: Offsets = {}
    try:
        for topic, partitions in json.loads(text).items():
            for index, value in partitions.items():
                result[TopicPartition(topic, int(index))] = value
    except (ValueError, AttributeError, TypeError):
        result = {}
    if not result or not all(type(value) is int and value >= least for value in result.values()):
        raise BadOption(f'{option} has a {what} for each partition, like {{"topic": {{"0": 23}}}}, not {text!r}')
    return result
