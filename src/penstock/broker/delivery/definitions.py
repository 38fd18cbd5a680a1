"""Definitions of subscriptions: their rows in meta.db, and the checks of a new one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

from penstock.broker.delivery.dead_letter_topics import dead_letter_topic
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TOPIC_NAME_LENGTH_MAX
from penstock.storage.metadata.subscriptions import StoredSubscriptions, SubscriptionRow

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,200}")

_NO_TOPIC = "there is no topic {0!r}; create it, for instance with `penstock push create-topic {0}`"
_NO_SUBSCRIPTION = (
    "there is no subscription {0!r}; create it, for instance with `penstock push create-subscription {0} TOPIC`"
)


class Definitions:
    """The definitions by name. `most` is how many there may be."""

    def __init__(self, store: StoredSubscriptions, topics: TopicTable, most: int) -> None:
        self._store = store
        self._topics = topics
        self._most = most
        self._rows: dict[str, SubscriptionRow] = {}

    def load(self) -> None:
        self._rows.update({row.name: row for row in self._store.all()})

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def get(self, name: str) -> SubscriptionRow | None:
        return self._rows.get(name)

    def find(self, name: str) -> SubscriptionRow:
        row = self._rows.get(name)
        if row is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, _NO_SUBSCRIPTION.format(name))
        return row

    def all(self) -> Iterable[SubscriptionRow]:
        return tuple(self._rows.values())

    def refresh_id(self, name: str) -> int:
        row = self._rows.get(name)
        return 0 if row is None else row.refresh_id

    def has_topic(self, name: str) -> bool:
        return name in self._topics

    def topic(self, name: str) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_TOPIC.format(name))
        return topic

    def is_known(self, name: str, topic: str) -> bool:
        """Whether there is such a subscription. KafkaError if it reads another topic, or cannot be made."""
        known = self._rows.get(name)
        if known is None:
            self._check(name, topic)
            return False
        if known.topic != topic:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"subscription {name!r} reads topic {known.topic!r}; choose another name, or delete it first",
            )
        return True

    def _check(self, name: str, topic: str) -> None:
        if not _NAME.fullmatch(name):
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                f"{name[:50]!r} cannot be the name of a subscription;"
                " use 1 to 200 letters, digits, dots, dashes, underscores",
            )
        if len(dead_letter_topic(topic, name)) > TOPIC_NAME_LENGTH_MAX:
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                f"topic and subscription together have more than {TOPIC_NAME_LENGTH_MAX - 6} characters; "
                "choose a shorter name",
            )
        if len(self._rows) >= self._most:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"{len(self._rows)} subscriptions are the most; delete some, or raise push.subscriptions_max",
            )
        if self.topic(topic).internal:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is internal")

    async def put(self, row: SubscriptionRow) -> None:
        """Store a new definition, or a change; durable when this returns."""
        await asyncio.to_thread(self._store.put, row)
        self._rows[row.name] = row

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(self._store.delete, name)
        self._rows.pop(name, None)
