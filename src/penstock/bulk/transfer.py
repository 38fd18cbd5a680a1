"""Writes what a feed gives into topics, exactly once, however often the process or the broker dies.

A portion is a transaction: its rows, and a marker that says how far the feed has come (`client.markers`). When a run
starts, `begin` shuts out any other run of the same job, aborts what it left open, and says where to go on.

Where a commit got no answer, or the broker went away in the middle, the same is done again: `init`, and then the
marker says whether the portion is there. If not it is sent once more, from memory.
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
from penstock.client.retries import PASSING
from penstock.client.transactions import TransactionalProducer, is_fenced
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition

PAUSE_S = 0.1

# After `init` the portion starts over, so these pass, too.
MENDABLE = PASSING | {
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
    """Where portions come from. The same portions need not come again after a restart, but the same rows."""

    @abstractmethod
    def resume(self, entry: Entry | None) -> None:
        """Go to where the marker says, or to the first row. Changed if that would make no sense."""

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
        self._producer.init()
        self._last = self._marked()
        return self._last

    def _marked(self) -> Entry | None:
        found = self._markers.latest(self._name)
        return None if found is None else found.content

    def run(self, feed: Feed, entry: Entry | None, advanced: Callable[[Portion], None]) -> None:
        """All portions from `entry` on; `advanced` is called after each that is committed."""
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
        """False if it may be tried again."""
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
        """After a failure: whether it was committed all the same. Nothing of it is open then."""
        self._cluster.forget()
        self._producer.init()
        self._is_open = False
        found = self._marked()
        if found not in (portion.entry, self._last):
            raise self._replaced()  # it has gone on from where we were
        return found == portion.entry

    def _replaced(self) -> Replaced:
        hint = "what it has done stays done: start it again, once, and it goes on"
        return Replaced(f"another run of the job {self.job} took over, or this one slept", hint)

    def _give_up(self) -> None:
        """Readers of committed records would wait for an open transaction until it times out."""
        if self._is_open:
            self._is_open = False
            self._cluster.timeout_s = min(self._cluster.timeout_s, 5.0)
            self._cluster.forget()  # whatever stopped us may have left an answer half read
            try:
                self._producer.abort()
            except (BrokerUnavailable, KafkaError):
                pass  # the broker does it when the transaction times out, or the next run when it begins


def transactional_id(job: str) -> str:
    return f"penstock-job-{hashlib.sha256(job.encode()).hexdigest()[:24]}"
