"""Exactly-once writing: a piece of work and its marker in one transaction.

    InitProducerId   aborts the open transaction of a former attempt, and fences that attempt
    read the marker  if it names this work, the work is done
    write            the batches, then the marker
    EndTxn           all of it becomes visible at once, or nothing

The transactional id, and the marker's name, belong to the query, or to a task's place in it; work has a rising number.
While tasks compute, no transaction is open for more than a few seconds (`ahead`).

A writer that has written the previous work skips the first two steps: if another writer had begun under this name
since, the broker would refuse the first write, and then everything is done from the start.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
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
                return self.prepare(number) and self._do(number, batches, about or {})
            except (BrokerUnavailable, KafkaError) as error:
                logger.info("%s: batch %d begins again: %s", self._name, number, error)
                self.cluster.forget()
        return persist(
            lambda: self._attempt(number, batches, about or {}),
            timeout_s=self.cluster.timeout_s,
            before_next=self.cluster.forget,
        )

    def prepare(self, number: int) -> bool:
        """Become ready to send the work of this number. False if it was done before."""
        if self._last is not None:
            return number > self._last
        found = self.begin()
        return found is None or found.content["batch"] < number

    def _attempt(self, number: int, batches: Callable[[], Batches], about: dict[str, Any]) -> bool:
        try:
            self._last = None
            if not self.prepare(number):
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
        self.complete(number, about)
        return True

    def complete(self, number: int, about: dict[str, Any]) -> None:
        """Commit the work of this number. After an error, whether it is done is not known."""
        self._last = None
        self.finish({"batch": number, **about})
        self._last = number

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


class NumberedWork:
    """Work of a query that may be repeated, as one transaction; `once` is its writer."""

    def __init__(self, once: AbstractContextManager[ExactlyOnce], number: int) -> None:
        self._once, self._number = once, number

    def open(self) -> bool:
        with ExitStack() as stack:
            writer = stack.enter_context(self._once)
            if not writer.prepare(self._number):
                return False
            self._writer, self._stack = writer, stack.pop_all()
        return True

    @property
    def cluster(self) -> Cluster:
        return self._writer.cluster

    def send(self, batches: Batches) -> None:
        self._writer.send(batches)

    def commit(self) -> bool:
        """False if it is not known to be done, which whoever does it again will find out."""
        try:
            with self._stack:
                self._writer.complete(self._number, {})
        except (BrokerUnavailable, KafkaError) as error:
            logger.info("batch %d begins again: %s", self._number, error)
            return False
        return True

    def leave(self) -> None:
        with self._stack:
            self._writer.abort()


class UnrepeatedWork:
    """Work that is never repeated, over some connections: all of it or nothing, without a marker."""

    def __init__(self, connected: AbstractContextManager[Cluster], name: str, timeout_ms: int) -> None:
        self._connected, self._name, self._timeout_ms = connected, name, timeout_ms

    def open(self) -> bool:
        with ExitStack() as stack:
            self.cluster = stack.enter_context(self._connected)
            self._producer = TransactionalProducer(self.cluster, self._name, timeout_ms=self._timeout_ms)
            self._producer.init()
            self._stack = stack.pop_all()
        return True

    def send(self, batches: Batches) -> None:
        for place, batch in batches:
            self._producer.send(place, batch)

    def commit(self) -> bool:
        """An error means that the outcome is unknown."""
        with self._stack:
            self._producer.commit()
        return True

    def leave(self) -> None:
        with self._stack:
            self._producer.abort()


def write_atomically(cluster: Cluster, name: str, timeout_ms: int, batches: Batches) -> None:
    """Write work that is never repeated."""
    work = UnrepeatedWork(nullcontext(cluster), name, timeout_ms)
    work.open()
    work.send(batches)
    work.commit()
