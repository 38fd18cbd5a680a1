"""Exactly-once writing: a piece of work and its marker in one transaction.

    InitProducerId   aborts the open transaction of a former attempt, and fences that attempt
    read the marker  if it names this work, the work is done
    write            the batches, then the marker
    EndTxn           all of it becomes visible at once, or nothing

The transactional id, and the marker's name, belong to the query, or to a task's place in it; work has a rising number.
No transaction is open while tasks compute.

A writer that has written the previous work skips the first two steps: if another writer had begun under this name
since, the broker would refuse the first write, and then everything is done from the start.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.markers import Found, Markers
from penstock.client.retries import persist
from penstock.client.transactions import TransactionalProducer, is_fenced
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

Batches = Iterable[tuple[TopicPartition, bytearray]]
FENCED_MAX = 1


class ExactlyOnce:
    """The writer of one name. `write` may be called again for work whose outcome is unknown."""

    def __init__(self, cluster: Cluster, name: str, timeout_ms: int) -> None:
        self.cluster, self._name = cluster, name
        self._markers = Markers(cluster)
        self._producer = TransactionalProducer(cluster, name, timeout_ms=timeout_ms)
        self._fenced = 0
        self._last: int | None = None  # the work that was done last, by this object

    def close(self) -> None:
        self.cluster.close()

    def begin(self) -> Found | None:
        """Fence the former writer of this name. Returns the marker of the last work."""
        self._last = None
        return self._markers.begin(self._producer)

    def write(self, number: int, batches: Callable[[], Batches], about: dict[str, Any] | None = None) -> bool:
        """Write the work of this number; False if it was done before. `batches` may be called again."""
        self._fenced = 0
        if self._last is not None:
            try:
                return self._go_on(number, self._last, batches, about or {})
            except (BrokerUnavailable, KafkaError) as error:
                logger.info("%s: batch %d begins again: %s", self._name, number, error)
                self.cluster.forget()
        return persist(
            lambda: self._attempt(number, batches, about or {}),
            timeout_s=self.cluster.timeout_s,
            before_next=self.cluster.forget,
        )

    def _go_on(self, number: int, last: int, batches: Callable[[], Batches], about: dict[str, Any]) -> bool:
        return number > last and self._do(number, batches, about)

    def _attempt(self, number: int, batches: Callable[[], Batches], about: dict[str, Any]) -> bool:
        try:
            found = self.begin()
            if found is not None and found.content["batch"] >= number:
                logger.info("%s: batch %d was written before", self._name, number)
                return False
            return self._do(number, batches, about)
        except KafkaError as error:
            if is_fenced(error) and self._fenced < FENCED_MAX:
                self._fenced += 1
                raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, f"{self._name}: {error}") from error
            raise

    def _do(self, number: int, batches: Callable[[], Batches], about: dict[str, Any]) -> bool:
        self.send(batches())
        self.finish({"batch": number, **about})
        self._last = number
        return True

    def send(self, batches: Batches) -> None:
        for place, batch in batches:
            self._producer.send(place, batch)

    def finish(self, marker: dict[str, Any]) -> None:
        """Write the marker and commit."""
        self._producer.send(self._markers.place, self._markers.batch(self._name, marker, time.time_ns() // 1_000_000))
        self._producer.commit()

    def abort(self) -> None:
        """Abort the open transaction of this name.

        Spark also asks for it after a commit that failed but took effect.
        """
        self._init()

    def _init(self) -> None:
        self._last = None  # other writers may have written before, and from here on the broker would not refuse us
        self._producer.init()


def write_atomically(cluster: Cluster, name: str, timeout_ms: int, batches: Batches) -> None:
    """Write work that is never repeated: all of it or nothing, without a marker."""
    producer = TransactionalProducer(cluster, name, timeout_ms=timeout_ms)
    producer.init()
    for place, batch in batches:
        producer.send(place, batch)
    producer.commit()
