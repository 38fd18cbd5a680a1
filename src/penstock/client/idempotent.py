"""A producer of whole batches whose retries are not stored twice; batches sent again after its own crash are.

Batches are acknowledged in the order in which they were sent. When an answer does not come, or reports a retriable
error, everything not acknowledged is sent again in order; the broker recognises the sequences that it has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable, UnderWay
from penstock.client.produces import (
    IN_FLIGHT,
    INIT_PRODUCER_ID_VERSION,
    Identity,
    receive_produce,
    send_produce,
    sign,
)
from penstock.client.transient_errors import TRANSIENT
from penstock.model.batch import read_header
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import INIT_PRODUCER_ID


class Sent(NamedTuple):
    place: TopicPartition
    batch: bytearray | memoryview
    request: UnderWay


class IdempotentProducer:
    """The producer. Not thread-safe."""

    def __init__(self, cluster: Cluster, on_stored: Callable[[TopicPartition, int], None] | None = None) -> None:
        """`on_stored` is called with the first offset of every batch, in the order in which they were sent."""
        self._cluster = cluster
        self._on_stored = on_stored
        self._identity: Identity | None = None
        self._sequences: dict[TopicPartition, int] = {}
        self._under_way: deque[Sent] = deque()

    def send(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        """Send one batch, with the producer's id and sequence written into it; it must not change until `flush`."""
        if self._identity is None:
            self._identity = self._cluster.patiently(self._initialised)
        sequence = self._sequences.get(place, 0)
        sign(batch, self._identity, sequence, transactional=False)
        self._sequences[place] = (sequence + read_header(batch).record_count) & 0x7FFFFFFF
        while len(self._under_way) >= IN_FLIGHT:
            self._acknowledge()
        try:
            self._post(place, batch)
        except (BrokerUnavailable, KafkaError):
            self._cluster.patiently(lambda: self._again(place, batch))

    def flush(self) -> None:
        """Wait until everything is acknowledged."""
        while self._under_way:
            self._acknowledge()

    def _initialised(self) -> Identity:
        answer = self._cluster.any_connection().call(
            INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, transactional_id=None, transaction_timeout=60_000,
            producer_id=-1, producer_epoch=-1,
        )  # fmt: skip
        check(answer.error_code, "a producer id")
        return Identity(answer.producer_id, answer.producer_epoch)

    def _post(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        request = send_produce(self._cluster.leader(place), place, batch, None)
        self._under_way.append(Sent(place, batch, request))

    def _again(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        self._resend()
        self._post(place, batch)

    def _acknowledge(self) -> None:
        try:
            self._take_answer()
        except (BrokerUnavailable, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code not in TRANSIENT:
                raise
            self._cluster.patiently(self._resend_and_take)

    def _resend_and_take(self) -> None:
        self._resend()
        while self._under_way:
            self._take_answer()

    def _resend(self) -> None:
        self._cluster.forget()  # answers that are still in flight belong to the first attempt
        waiting, self._under_way = self._under_way, deque()
        try:
            while waiting:
                self._post(waiting[0].place, waiting[0].batch)
                waiting.popleft()
        finally:
            self._under_way += waiting

    def _take_answer(self) -> None:
        sent = self._under_way[0]
        acknowledged = receive_produce(sent.request, sent.place)
        check(acknowledged.error, str(sent.place))
        self._under_way.popleft()
        if self._on_stored is not None:
            self._on_stored(sent.place, acknowledged.base_offset)
