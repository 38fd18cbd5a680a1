"""Choice of a message's partition, where librdkafka does not make it itself.

librdkafka partitions by key (murmur2, as Java). Round-robin and a user's own callable need the number of partitions;
the number is requested once and then every `REFRESH_S`, since partitions may be added.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Producer

from penstock.sdk.errors import SettingsError
from penstock.sdk.librdkafka.errors import translate, translated
from penstock.sdk.options import Partitioner

REFRESH_S = 60.0
_PAUSE_S = 0.1
BY_LIBRARY = -1


class PartitionCounts:
    """Numbers of partitions of the topics that messages were sent to."""

    def __init__(self, producer: Producer, timeout_s: float) -> None:
        self._producer = producer
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[int, float]] = {}

    def known(self, topic: str) -> int | None:
        """The known number, without a request."""
        count, until = self._known.get(topic, (0, 0.0))
        return count if time.monotonic() < until else None

    def ask(self, topic: str) -> int:
        """The number, requested if need be; also waits for a topic that is being created."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            with translated(f"partitions of {topic}"):
                found: Any = self._producer.list_topics(topic, self._timeout_s).topics[topic]
            if found.error is None and found.partitions:
                self._known[topic] = (len(found.partitions), time.monotonic() + REFRESH_S)
                return len(found.partitions)
            if time.monotonic() > deadline or not found.error.retriable():
                raise translate(found.error, f"partitions of {topic}")
            time.sleep(_PAUSE_S)


class RoundRobin:
    """Round-robin partitioner, for each topic by itself."""

    def __init__(self) -> None:
        self._turns: dict[str, Iterator[int]] = {}

    def __call__(self, topic: str, _: bytes | None, partition_count: int) -> int:
        return next(self._turns.setdefault(topic, itertools.count())) % partition_count


def checked_partition(partitioner: Partitioner, topic: str, key: bytes | None, partition_count: int) -> int:
    found: Any = partitioner(topic, key, partition_count)
    if not isinstance(found, int) or not 0 <= found < partition_count:
        hint = f"return a number from 0 to {partition_count - 1}"
        raise SettingsError(f"the partitioner chose {found!r} for topic {topic}", hint=hint)
    return found
