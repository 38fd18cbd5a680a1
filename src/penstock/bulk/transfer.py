"""Exactly-once transfer of a feed's rows into topics, however often the process or the broker dies.

A portion is a transaction: its rows, and a marker that says how far the feed has come (`client.markers`). When a run
starts, `begin` fences any other run of the same job, aborts its open transaction, and returns where to continue.

If a commit gets no answer, or the broker goes away in the middle, the same is done again: `init`, and then the marker
says whether the portion is stored. If not, it is sent again from memory.
"""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock.bulk.entry import Entry
from penstock.bulk.errors import Replaced
from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.markers import Markers
from penstock.client.transactions import TransactionalProducer, is_fenced
from penstock.client.transient_errors import TRANSIENT
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition

PAUSE_S = 0.1

# After `init` the portion starts over, so these errors are transient, too.
MENDABLE = TRANSIENT | {
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
}


@dataclass(frozen=True, slots=True)
class Portion:
    """Batches of one transaction, and the marker that goes with them: plain JSON, another one for each portion."""

    entry: Entry
    rows: int
    batches: list[tuple[TopicPartition, bytearray]] = field(default_factory=list)


class Feed(ABC):
    """The source of portions. After a restart the same rows must come again, but not the same portions."""

    @abstractmethod
    def resume(self, entry: Entry | None) -> None:
        """Go to the position in the marker, or to the first row. Changed if the source does not fit the marker."""

    @abstractmethod
    def portions(self) -> Iterator[Portion]: ...


class Transfer:
    def __init__(self, cluster: Cluster, job: str) -> None:
        self._cluster = cluster
        self.job = job
        self._name = transactional_id(job)
        self._markers = Markers(cluster)
        self._producer = TransactionalProducer(cluster, self._name)
        self._is_open = False
        self._last: Entry | None = None  # the marker that was seen or written last

    def begin(self) -> Entry | None:
        """The job's marker, if it ran before."""
        self._last = self._begin()
        return self._last

    def _begin(self) -> Entry | None:
        found = self._markers.begin(self._producer)
        return None if found is None else found.content

    def run(self, feed: Feed, entry: Entry | None, advanced: Callable[[Portion], None]) -> None:
        """Transfer all portions from `entry` on; `advanced` is called after each commit."""
        try:
            feed.resume(entry)
            for portion in feed.portions():
                self._deliver(portion)
                advanced(portion)
        except BaseException:
            self._give_up()
            raise

    def _deliver(self, portion: Portion) -> None:
        deadline = time.monotonic() + self._cluster.timeout_s
        is_delivered = self._attempt(portion, deadline)
        while not is_delivered:
            time.sleep(PAUSE_S)
            is_delivered = self._is_there(portion) or self._attempt(portion, deadline)
        self._last = portion.entry

    def _attempt(self, portion: Portion, deadline: float) -> bool:
        """Try to commit a portion; False if it may be tried again."""
        self._is_open = True
        try:
            for place, batch in portion.batches:
                self._producer.send(place, batch)
            marker = self._markers.batch(self._name, portion.entry, time.time_ns() // 1_000_000)
            self._producer.send(self._markers.place, marker)
            self._producer.commit()
        except (BrokerUnavailable, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code not in MENDABLE:
                if not is_fenced(error):
                    raise
                self._is_open = False
                raise self._replaced() from error
            if time.monotonic() > deadline:
                raise
            return False
        self._is_open = False
        return True

    def _is_there(self, portion: Portion) -> bool:
        """Whether a portion was committed in spite of a failure. Nothing of it is open afterwards."""
        self._cluster.forget()
        found = self._begin()
        self._is_open = False
        if found not in (portion.entry, self._last):
            raise self._replaced()  # it has gone on from where we were
        return found == portion.entry

    def _replaced(self) -> Replaced:
        hint = "what it has done stays done: start it again, once, and it goes on"
        return Replaced(f"another run of the job {self.job} took over, or this one slept", hint)

    def _give_up(self) -> None:
        """Abort the open transaction: read_committed consumers would have to wait until it times out."""
        if self._is_open:
            self._is_open = False
            self._cluster.timeout_s = min(self._cluster.timeout_s, 5.0)
            self._cluster.forget()  # an answer may be only half read
            try:
                self._producer.abort()
            except (BrokerUnavailable, KafkaError):
                pass  # the broker does it when the transaction times out, or the next run when it begins


def transactional_id(job: str) -> str:
    return f"penstock-job-{hashlib.sha256(job.encode()).hexdigest()[:24]}"
