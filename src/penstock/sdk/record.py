"""A record as a consumer gives it to its user."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.formats import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Generic[Value]):
    """`key` and `value` as the deserializers made them; None if the record has none, whatever their type is."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Any
    value: Value
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def place(self) -> TopicPartition:
        """The topic and the partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def time(self) -> datetime:
        """`timestamp_ms` as a time in UTC."""
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)

    def header(self, name: str) -> bytes | None:
        """The last header of that name."""
        return next((value for known, value in reversed(self.headers) if known == name), None)
