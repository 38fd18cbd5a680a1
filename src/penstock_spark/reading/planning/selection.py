"""Which partitions a query reads: `subscribe`, `subscribePattern` or `assign`."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.client.cluster import Cluster, TopicInfo
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.problems import BadOption


class Selection(ABC):
    """Says what exists now; a streaming query asks again and again."""

    @abstractmethod
    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        """Sorted. KafkaError UNKNOWN_TOPIC_OR_PARTITION if something is missing that was named."""


@dataclass(frozen=True)
class Subscribed(Selection):
    topics: tuple[str, ...]

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        found = cluster.patiently(lambda: cluster.topics(self.topics))
        _require(self.topics, found)
        return _all_partitions(found.values())


@dataclass(frozen=True)
class Matching(Selection):
    """Topics whose whole name matches, as Java's `matches`; those of the broker itself only if the pattern says so."""

    pattern: str

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        matches = re.compile(self.pattern).fullmatch
        found = cluster.patiently(cluster.topics)
        return _all_partitions(topic for topic in found.values() if matches(topic.name))


@dataclass(frozen=True)
class Assigned(Selection):
    places: tuple[TopicPartition, ...]

    def partitions(self, cluster: Cluster) -> list[TopicPartition]:
        topics = {place.topic for place in self.places}
        found = cluster.patiently(lambda: cluster.topics(topics))
        _require(topics, found)
        for place in self.places:
            if place.partition >= found[place.topic].partition_count:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {place}")
        return sorted(self.places)


def _all_partitions(topics: Iterable[TopicInfo]) -> list[TopicPartition]:
    return sorted(TopicPartition(topic.name, index) for topic in topics for index in range(topic.partition_count))


def _require(names: Iterable[str], found: dict[str, TopicInfo]) -> None:
    missing = sorted(set(names) - found.keys())
    if missing:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {', '.join(missing)}")


def parse_selection(subscribe: str | None, pattern: str | None, assign: str | None) -> Selection:
    given = [each for each in (subscribe, pattern, assign) if each is not None]
    if len(given) != 1:
        raise BadOption("exactly one of subscribe, subscribePattern and assign says what to read")
    if subscribe is not None:
        topics = tuple(dict.fromkeys(name.strip() for name in subscribe.split(",") if name.strip()))
        if not topics:
            raise BadOption("subscribe names no topic")
        return Subscribed(topics)
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadOption(f"subscribePattern {pattern!r} is no regular expression: {error}") from None
        if not pattern.strip():
            raise BadOption("subscribePattern is empty")
        return Matching(pattern)
    return Assigned(_parse_assign(assign or ""))


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
