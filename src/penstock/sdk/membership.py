"""The partitions of a consumer: a subscription with its rebalances, or all partitions of topics for good.

Rebalances happen within a poll of librdkafka. When a partition goes, `forget` drops everything that is held of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as LibraryPlace

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.arguments import is_text
from penstock.sdk.errors import BrokerError, NotFound, SettingsError, StateError
from penstock.sdk.idle_clock import IdleClock
from penstock.sdk.librdkafka.common_config import logger
from penstock.sdk.librdkafka.errors import translate, translated
from penstock.sdk.librdkafka.first_contact import FirstContact
from penstock.sdk.librdkafka.start_offsets import at, uncommitted_at
from penstock.sdk.options import ConsumerOptions

_PAUSE_S = 0.5


class Membership:
    def __init__(
        self,
        library: Consumer,
        topics: str | Sequence[str],
        options: ConsumerOptions,
        forget: Callable[[set[TopicPartition]], None],
        idle: IdleClock,
        contact: FirstContact,
    ) -> None:
        self.topics = _names(topics)
        self._library = library
        self._options = options
        self._forget = forget
        self._idle = idle
        self._contact = contact
        self._timeout_s = options["request_timeout_ms"] / 1000
        self._is_started = False
        self.is_leaving = False  # nothing more will be read, whatever the group still assigns
        self.owned: set[TopicPartition] = set()

    def start(self) -> None:
        """Subscribe or assign, on the first call. Unreachable if no broker answers: librdkafka would only retry."""
        if self._is_started:
            return
        known: Any = self._contact.metadata().topics
        if "group" in self._options:
            with translated(f"subscription to {', '.join(self.topics)}"):
                self._library.subscribe(
                    self.topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
                )
        else:
            places = [place for topic in self.topics for place in _partitions(known, topic)]
            self._library.assign(at(self._library, places, self._options["start"], self._timeout_s))
            self.owned = set(ours(places))
            self._idle.assigned()
        self._is_started = True

    def check_owned(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            if place not in self.owned:
                hint = f"it has {', '.join(map(str, sorted(self.owned))) or 'none yet: poll first'}"
                raise StateError(f"{place} is not a partition of this consumer", hint=hint)

    def _assigned(self, library: Consumer, places: list[LibraryPlace]) -> None:
        started = self._started(library, places)
        if self._is_incremental:
            library.incremental_assign(started)
        else:
            library.assign(started)
        self.owned |= set(ours(places))
        self._idle.assigned()
        self._tell("on_assign", places)

    @property
    def _is_incremental(self) -> bool:
        """Whether the partitions that a member keeps stay assigned during a rebalance (KIP-429)."""
        return self._options["assignor"] in ("sticky", "cooperative-sticky")

    def _started(self, library: Consumer, places: list[LibraryPlace]) -> list[LibraryPlace]:
        """The partitions with the offsets that librdkafka does not find itself.

        Retried: without an answer nothing would be read.
        """
        start = self._options["start"]
        if start in ("earliest", "latest") or self.is_leaving:
            return places
        deadline = time.monotonic() + self._options["max_poll_interval_ms"] / 2000
        while True:
            try:
                return uncommitted_at(library, places, start, self._timeout_s)
            except BrokerError as error:
                if time.monotonic() > deadline:
                    raise
                logger.warning("%s", error)
                time.sleep(_PAUSE_S)

    def _revoked(self, _: Consumer, places: list[LibraryPlace]) -> None:
        self._tell("on_revoke", places)  # first: it may commit
        self._gone(places)

    def _lost(self, _: Consumer, places: list[LibraryPlace]) -> None:
        self._gone(places)
        self._tell("on_lost", places)

    def _gone(self, places: list[LibraryPlace]) -> None:
        self.owned -= set(ours(places))
        self._forget(set(ours(places)))
        if not self._is_incremental:  # every partition was taken away, and the rebalance ends with an assignment
            self._idle.unassigned()

    def _tell(self, which: str, places: list[LibraryPlace]) -> None:
        callback: Any = self._options.get(which)
        if callback is not None:
            callback(ours(places))


def _partitions(known: Any, topic: str) -> list[LibraryPlace]:
    if topic not in known:
        hint = "create it with `Admin.create_topic`, or correct the name"
        raise NotFound(f"topic {topic} does not exist", hint=hint, code="UNKNOWN_TOPIC_OR_PART")
    if known[topic].error is not None:
        raise translate(known[topic].error, f"topic {topic}")
    return [LibraryPlace(topic, index) for index in sorted(known[topic].partitions)]


def ours(places: Iterable[LibraryPlace]) -> list[TopicPartition]:
    return sorted(TopicPartition(place.topic, place.partition) for place in places)


def _names(topics: Any) -> list[str]:
    found = [topics] if isinstance(topics, str) else list(topics or ())
    if not found or not all(name and is_text(name) for name in found):
        raise SettingsError(f"topics={topics!r}", hint="name a topic, or several in a list")
    return found
