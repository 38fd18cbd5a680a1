"""A transactional producer of whole batches, of the second protocol generation (KIP-890).

A transaction that fails midway is not repaired: its user begins again with `init`, which aborts the open transaction
and fences any other producer of the same transactional id. Only the end is retried, since its answer may be lost after
it took effect.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from penstock.client.answer_error import check
from penstock.client.cluster import TRANSACTION, Cluster
from penstock.client.connection import Connection, UnderWay
from penstock.client.left_open import LastEnd, end_left_open, last_end
from penstock.client.produces import (
    INIT_PRODUCER_ID_VERSION,
    PRODUCE_VERSION,
    Identity,
    receive_produce,
    send_produce,
    sign,
)
from penstock.model.batch import read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import END_TXN, INIT_PRODUCER_ID, PRODUCE

END_TXN_VERSION = 5
UNDER_WAY_MAX, UNDER_WAY_BYTES_MAX = 64, 32 << 20
"""Batches that are not acknowledged. They may be more than a broker remembers of a producer, since none is sent again
but the first one, alone; and a broker that syncs needs fewer syncs for them."""


class _Sent(NamedTuple):
    request: UnderWay
    place: TopicPartition
    size: int


class TransactionalProducer:
    """A producer: `init`, then any number of times `send` … and `commit` or `abort`. Not thread-safe."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, timeout_ms: int = 60_000) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._identity = Identity(-1, -1)
        self._sequences: dict[TopicPartition, int] = {}
        self._under_way: deque[_Sent] = deque()
        self._under_way_bytes = 0
        self._unchecked = False  # topics of this transaction have to be looked at: it is the first one of its producer
        self._checked: set[str] = set()
        self._last_end = LastEnd.UNKNOWN

    def init(self) -> None:
        """Abort the open transaction of this id and fence its producer."""
        self._forget()
        wanted = {PRODUCE: PRODUCE_VERSION, END_TXN: END_TXN_VERSION, INIT_PRODUCER_ID: INIT_PRODUCER_ID_VERSION}
        self._cluster.patiently(lambda: self._cluster.check_versions(wanted))

        def attempt() -> None:
            end = last_end(self._cluster, self.transactional_id)
            if end is not LastEnd.UNKNOWN:  # it is after the first attempt
                self._last_end = end
            answer = self._coordinator().call(
                INIT_PRODUCER_ID,
                INIT_PRODUCER_ID_VERSION,
                transactional_id=self.transactional_id,
                transaction_timeout=self._timeout_ms,
                producer_id=-1,
                producer_epoch=-1,
            )
            check(answer.error_code, f"transactional id {self.transactional_id}")
            self._identity = Identity(answer.producer_id, answer.producer_epoch)

        self._cluster.patiently(attempt)
        self._unchecked, self._checked = True, set()

    def _coordinator(self) -> Connection:
        return self._cluster.coordinator(TRANSACTION, self.transactional_id)

    def _forget(self) -> None:
        if self._under_way:
            self._forget_sent()
            self._cluster.forget()
        self._sequences = {}

    # --- writing -----------------------------------------------------------------------------------------------------

    def send(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        """Send one batch, with id and sequence written into it. After KafkaError or BrokerUnavailable, `init` again."""
        if self._unchecked and place.topic not in self._checked:
            self.check_topic(place.topic)
        sequence = self._sequences.get(place, 0)
        sign(batch, self._identity, sequence, transactional=True)
        self._sequences[place] = (sequence + read_header(batch).record_count) & 0x7FFFFFFF
        if sequence == 0 and not self._under_way and len(self._sequences) == 1:
            self._begin(place, batch)
            return
        self._post(place, batch)
        while len(self._under_way) >= UNDER_WAY_MAX or self._under_way_bytes > UNDER_WAY_BYTES_MAX:
            self._acknowledge()

    def check_topic(self, topic: str) -> None:
        """End what an earlier producer of this id has left open in a topic; see `left_open`. Done before writing there,
        and needed before reading what it has written.
        """
        cluster, producer_id = self._cluster, self._identity.producer_id

        def attempt() -> None:
            count = cluster.topics([topic])[topic].partition_count
            places = [TopicPartition(topic, index) for index in range(count)]
            end_left_open(cluster, producer_id, places, self._last_end)

        cluster.patiently(attempt)
        self._checked.add(topic)

    def _begin(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        """Send the first batch. It may come too soon after the previous transaction, and be refused with nothing
        written.

        If it is sent twice it is stored once: the broker recognises its sequence.
        """

        def attempt() -> None:
            self._forget_sent()
            self._post(place, batch)
            self._acknowledge()

        self._cluster.patiently(attempt)

    def _post(self, place: TopicPartition, batch: bytearray | memoryview) -> None:
        connection = self._cluster.leader(place)
        request = send_produce(connection, place, batch, self.transactional_id)
        self._under_way.append(_Sent(request, place, len(batch)))
        self._under_way_bytes += len(batch)

    def _acknowledge(self) -> int:
        request, place, size = self._under_way.popleft()
        self._under_way_bytes -= size
        acknowledged = receive_produce(request, place)
        check(acknowledged.error, str(place))
        return acknowledged.base_offset

    def _forget_sent(self) -> None:
        self._under_way.clear()
        self._under_way_bytes = 0

    def flush(self) -> None:
        while self._under_way:
            self._acknowledge()

    # --- the end -----------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Commit: everything that was sent becomes visible. An error means that the outcome is unknown."""
        self.flush()
        self._end(commit=True)

    def abort(self) -> None:
        self._forget()
        self._end(commit=False)

    def _end(self, *, commit: bool) -> None:
        sender = self._identity

        def attempt() -> None:
            answer = self._coordinator().call(
                END_TXN,
                END_TXN_VERSION,
                transactional_id=self.transactional_id,
                producer_id=sender.producer_id,
                producer_epoch=sender.epoch,
                committed=commit,
            )
            check(answer.error_code, f"transactional id {self.transactional_id}")
            self._identity = Identity(answer.producer_id, answer.producer_epoch)

        self._cluster.patiently(attempt)
        self._sequences = {}
        self._unchecked = False


def is_fenced(error: KafkaError) -> bool:
    """Whether another producer of the same transactional id has taken over."""
    return error.code in (
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    )
