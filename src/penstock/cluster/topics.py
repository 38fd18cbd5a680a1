"""The table of topics: every part of the broker reads it, and only the controller writes it.

A `Topic` is a value. A change puts another value in its place, so a cache of values derived from a topic only has
to compare identities. The table holds durable topics only; listeners are called on the event loop, after the table has
changed and before any other task runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from penstock.model.ids import TopicId
from penstock.model.topic_name import collision_key


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topic:
    """A topic as it is now. `configs` holds only those set for this topic, by Kafka's names.

    `encodings` is a place for answers about this topic that are kept as bytes, by any key;
    it goes when the topic changes, which is the whole invalidation.
    """

    name: str
    topic_id: TopicId
    partition_count: int
    configs: Mapping[str, str]
    internal: bool
    leader_epochs: tuple[int, ...]  # by partition; NO_EPOCH in a mirror
    mirror: bool = False
    """A copy of a parent's topic, with its id and offsets: only the pipe writes here."""
    diverged: str = ""
    """Reason why a mirror has stopped following its parent, until it is reset."""
    encodings: dict[object, bytes] = field(default_factory=dict, repr=False)

    def grown(self, partition_count: int) -> Topic:
        """The topic with more partitions. New ones are led in the epoch of the first one."""
        added = (self.leader_epochs[0],) * (partition_count - self.partition_count)
        return replace(self, partition_count=partition_count, leader_epochs=self.leader_epochs + added, encodings={})


class TopicChange(NamedTuple):
    """`before` is None for a new topic, `after` for a deleted one; otherwise its configs or partitions changed."""

    before: Topic | None
    after: Topic | None

    @property
    def created(self) -> Topic | None:
        return self.after if self.before is None else None

    @property
    def deleted(self) -> Topic | None:
        return self.before if self.after is None else None


TopicListener = Callable[[TopicChange], None]


class TopicTable:
    """All topics by name and by id."""

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[TopicId, Topic] = {}
        self._by_collision_key: dict[str, str] = {}
        self._listeners: list[TopicListener] = []
        self._sorted_names: list[str] | None = None
        self._partition_count = 0
        self.parent: str | None = None
        """URL of the node whose topics are mirrored here at present. The pipe sets it; refusals name it."""

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def partition_count(self) -> int:
        """Partitions of all topics together."""
        return self._partition_count

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def get_by_id(self, topic_id: TopicId | None) -> Topic | None:
        return None if topic_id is None else self._by_id.get(topic_id)

    def all(self) -> Iterable[Topic]:
        """Topics in the order of creation. Take a copy before waiting for anything."""
        return self._by_name.values()

    def names_from(self, first: str = "") -> Iterator[str]:
        """Names in their order, from the first one that is not below `first`."""
        names = self._sorted_names
        if names is None:
            names = self._sorted_names = sorted(self._by_name)
        return iter(names[bisect_left(names, first) :])

    def colliding(self, key: str) -> str | None:
        """The topic whose name has this collision key (see `model.topic_name`), if there is one."""
        return self._by_collision_key.get(key)

    def subscribe(self, listener: TopicListener) -> None:
        """Call `listener` at every change from now on."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: TopicListener) -> None:
        self._listeners.remove(listener)

    def put(self, topic: Topic) -> None:
        """Take in a topic that was created or changed. The controller only."""
        before = self._by_name.get(topic.name)
        assert before is None or before.topic_id == topic.topic_id, f"topic {topic.name} changed its id"
        self._by_name[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._by_collision_key[collision_key(topic.name)] = topic.name
        if before is None:
            self._sorted_names = None
        self._partition_count += topic.partition_count - (before.partition_count if before else 0)
        self._tell(TopicChange(before, topic))

    def remove(self, topic_id: TopicId) -> Topic:
        """Take out a topic that was deleted. The controller only."""
        topic = self._by_id.pop(topic_id)
        del self._by_name[topic.name]
        del self._by_collision_key[collision_key(topic.name)]
        self._sorted_names = None
        self._partition_count -= topic.partition_count
        self._tell(TopicChange(topic, None))
        return topic

    def _tell(self, change: TopicChange) -> None:
        for listener in tuple(self._listeners):
            listener(change)
