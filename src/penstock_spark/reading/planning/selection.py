"""The partitions that a query reads: `subscribe`, `subscribePattern` or `assign`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from penstock.client.cluster import Cluster, TopicInfo
from penstock.model.errors import ErrorCode
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption, NotThere
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible
from penstock_spark.reading.patterns.java_pattern import java_pattern

OWN_TOPICS = "__penstock_"
"""The prefix of topics that Penstock's writers use internally."""


class Found(NamedTuple):
    places: list[TopicPartition]
    """Sorted."""
    ids: dict[str, str]
    """The ids of their topics."""
    missing: str = ""
    """Topics that were named and do not exist, as text."""


class Selection(ABC):
    """A selection, resolved to what exists now; a streaming query does so repeatedly."""

    option: ClassVar[str]
    """By which it is given."""

    @abstractmethod
    def find(self, cluster: Cluster) -> Found: ...

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        """The partitions of `find_all`."""
        return self.find_all(cluster).places

    def find_all(self, cluster: Cluster) -> Found:
        """Everything that was selected.

        NotThere if something that was named is missing.
        """
        found = self.find(cluster)
        if found.missing:
            raise self.not_there(found)
        return found

    def not_there(self, found: Found) -> NotThere:
        text = f"there is no {found.missing}: create it, or correct {self.option}"
        return NotThere(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)

    @property
    def may_grow(self) -> bool:
        """Whether there may be more partitions later."""
        return True


@dataclass(frozen=True)
class Subscribed(Selection):
    option = "subscribe"
    topics: tuple[str, ...]

    def find(self, cluster: Cluster) -> Found:
        found = cluster.patiently(lambda: cluster.topics(self.topics))
        missing = _missing("topic", set(self.topics) - found.keys())
        return Found(_all_partitions(found.values()), _ids(found.values()), missing)


@dataclass(frozen=True)
class Matching(Selection):
    """Topics with the pattern, one of Java, anywhere in their names, as in Spark's source; `^…$` matches whole names.

    Internal topics of brokers and of Penstock's writers are left out: a stream that reads the markers that it writes
    itself would never become idle.
    """

    option = "subscribePattern"
    pattern: str

    def find(self, cluster: Cluster) -> Found:
        is_meant = java_pattern(self.pattern).search
        found = cluster.patiently(cluster.topics).values()
        others = (topic for topic in found if not topic.is_internal and not topic.name.startswith(OWN_TOPICS))
        meant = [topic for topic in others if is_meant(topic.name)]
        return Found(_all_partitions(meant), _ids(meant))


@dataclass(frozen=True)
class Assigned(Selection):
    option = "assign"
    places: tuple[TopicPartition, ...]

    def find(self, cluster: Cluster) -> Found:
        topics = {place.topic for place in self.places}
        found = cluster.patiently(lambda: cluster.topics(topics))
        there = set(self.places) & set(_all_partitions(found.values()))
        absent = _missing("topic", topics - found.keys())
        missing = absent or _missing("partition", map(str, set(self.places) - there))
        return Found(sorted(there), _ids(found.values()), missing)

    @property
    def may_grow(self) -> bool:
        return False


def _all_partitions(topics: Iterable[TopicInfo]) -> list[TopicPartition]:
    return sorted(TopicPartition(topic.name, index) for topic in topics for index in range(topic.partition_count))


def _ids(topics: Iterable[TopicInfo]) -> dict[str, str]:
    return {topic.name: topic.topic_id for topic in topics}


def _missing(what: str, names: Iterable[str]) -> str:
    text = ", ".join(sorted(names))
    return f"{what} {text}" if text else ""


def parse_selection(subscribe: str | None, pattern: str | None, assign: str | None) -> Selection:
    given = [each for each in (subscribe, pattern, assign) if each is not None]
    if len(given) != 1:
        found = "more than one is given" if given else "none is given"
        raise BadOption(f"exactly one of subscribe, subscribePattern and assign says what to read, and {found}")
    if subscribe is not None:
        topics = tuple(dict.fromkeys(name.strip() for name in subscribe.split(",") if name.strip()))
        if not topics:
            raise BadOption("subscribe names no topic")
        return Subscribed(topics)
    if pattern is not None:
        _check_pattern(pattern)
        return Matching(pattern)
    return Assigned(_parse_assign(assign or ""))


def _check_pattern(pattern: str) -> None:
    if not pattern.strip():
        raise BadOption("subscribePattern is empty: .* reads every topic")
    try:
        java_pattern(pattern)
    except NotAPattern as error:
        raise BadOption(f"subscribePattern {pattern!r} is no regular expression of Java: {error}") from None
    except NotPossible as error:
        raise BadOption(f"subscribePattern {pattern!r} has a part that cannot be done here: {error}") from None


def _parse_assign(text: str) -> tuple[TopicPartition, ...]:
    places: tuple[TopicPartition, ...] = ()
    try:
        parsed: dict[str, list[int]] = json.loads(text)
        places = tuple(TopicPartition(topic, int(index)) for topic, indexes in parsed.items() for index in indexes)
    except (ValueError, AttributeError, TypeError):
        pass
    if not places or min(each.partition for each in places) < 0:
        raise BadOption(f'assign is like {{"topic": [0, 1]}}, not {text!r}')
    return tuple(dict.fromkeys(places))
