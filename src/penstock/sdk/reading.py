"""From librdkafka's messages to records, and the handling of those that cannot be read."""

from __future__ import annotations

from typing import Any, Generic

from confluent_kafka import Message

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.errors import DeserializationError
from penstock.sdk.formats import Value, deserializer
from penstock.sdk.librdkafka.common_config import logger
from penstock.sdk.options import ConsumerOptions
from penstock.sdk.record import Record

_REASON_CHARACTERS_MAX = 300


class Reading(Generic[Value]):
    def __init__(self, key: Any, value: Any, options: ConsumerOptions) -> None:
        self._key = deserializer(key, "key_deserializer")
        self._value = deserializer(value, "value_deserializer")
        self._on_bad_record = options["on_bad_record"]
        self.skipped_count = 0

    def record(self, message: Message) -> Record[Value] | None:
        """The record; None for a bad one that `on_bad_record` has handled; DeserializationError if it is "raise"."""
        try:
            return self._read(message)
        except DeserializationError as error:
            if self._on_bad_record == "raise":
                raise
            self.skipped_count += 1
            if self._on_bad_record == "skip":
                logger.warning("skipped: %s", error)
            else:
                self._on_bad_record(error)
            return None

    def _read(self, message: Message) -> Record[Value]:
        place = place_of(message)
        parts: dict[str, Any] = {}
        for part, data, read in (("key", message.key(), self._key), ("value", message.value(), self._value)):
            try:
                parts[part] = None if data is None else read(data)
            except Exception as error:  # a deserializer may raise anything
                raise DeserializationError(
                    f"the {part} at offset {message.offset()} of {place} cannot be read ({_short(error)})",
                    hint=f"choose another {part}_deserializer, or what happens to such records with on_bad_record",
                    topic=place.topic,
                    partition=place.partition,
                    offset=message.offset() or 0,
                    part=part,
                    key=message.key(),
                    value=message.value(),
                ) from error
        return Record(
            topic=place.topic,
            partition=place.partition,
            offset=message.offset() or 0,
            timestamp_ms=message.timestamp()[1],
            headers=tuple(message.headers() or ()),  # type: ignore[arg-type]
            **parts,
        )


def place_of(message: Message) -> TopicPartition:
    return TopicPartition(message.topic() or "", message.partition() or 0)


def _short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_CHARACTERS_MAX]
