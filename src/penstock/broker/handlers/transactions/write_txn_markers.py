"""WriteTxnMarkers (key 27, v1–2): write the markers that end transactions.

Behaviour:
- Coordinators send it to brokers, and administrators to end a transaction that hangs.
- Each marker is answered when it is on disk. A marker that comes several times is written once to each partition, and
  so many at a time that other requests can go on.

Differs from Kafka: no.

Version notes:
- v2 adds the transaction version.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.broker.answers.partition_codes import CodeOf, encode_codes
from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.primitives import INT64, write_count
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.write_txn_markers import WriteTxnMarkersBuilders
    from penstock.protocol.kafka.requests.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest

    WriteTxnMarkers = Request[WriteTxnMarkersRequest, WriteTxnMarkersBuilders]

MARKERS_AT_ONCE = 1_000


async def handle(broker: Broker, request: WriteTxnMarkers) -> bytes:
    turns = Turns()
    writing = _Writing(broker, allowed=_may_write(broker, request))
    for item in request.body.markers:
        marker = _marker(item)
        for topic in item.topics:
            for index in dict.fromkeys(topic.partition_indexes):
                writing.begin(marker, TopicPartition(topic.name, index))
                if writing.unflushed >= MARKERS_AT_ONCE:
                    await writing.flushed()
                await turns.pause()
    await writing.flushed()
    answer = bytearray(write_count(len(request.body.markers), True))
    for item in request.body.markers:
        topics = [(topic.name, topic.partition_indexes) for topic in item.topics]
        codes = await encode_codes(topics, writing.codes_of(_marker(item)), turns, flexible=True)
        answer += INT64.pack(item.producer_id) + codes + b"\0"
    return bytes(answer + b"\0")


def _may_write(broker: Broker, request: WriteTxnMarkers) -> bool:
    """Whether the session may write markers: a broker (ClusterAction), or an administrator (Alter)."""
    access, session = broker.access, request.session
    return access.shows_cluster(session, Operation.ALTER) or access.allows_cluster(session, Operation.CLUSTER_ACTION)


def _marker(item: WritableTxnMarker) -> Marker:
    return Marker(item.producer_id, item.producer_epoch, item.coordinator_epoch, item.transaction_result)


class _Writing:
    """The markers of one request on their way to the disk."""

    def __init__(self, broker: Broker, *, allowed: bool) -> None:
        self._broker = broker
        self._allowed = allowed
        self._codes: dict[tuple[Marker, tuple[str, int]], ErrorCode] = {}
        self.unflushed = 0
        self._all_flushed: asyncio.Future[None] | None = None

    def begin(self, marker: Marker, place: TopicPartition) -> None:
        """Begin a marker in a partition, unless that was done before."""
        key = marker, place
        if key in self._codes:
            return
        self._codes[key] = ErrorCode.NONE
        self.unflushed += 1

        def flushed(code: ErrorCode) -> None:
            self._codes[key] = code
            self.unflushed -= 1
            if not self.unflushed and self._all_flushed is not None and not self._all_flushed.done():
                self._all_flushed.set_result(None)

        try:
            if not self._allowed:
                raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            self._broker.partitions.get(place.topic, place.partition)
            _check(marker)
            self._broker.transactions.markers.write_one(place, marker, flushed)
        except KafkaError as error:
            flushed(error.code)

    def codes_of(self, marker: Marker) -> CodeOf:
        return lambda topic, index: self._codes[marker, (topic, index)]

    async def flushed(self) -> None:
        """Wait until everything that was begun is on disk or has failed."""
        if self.unflushed:
            self._all_flushed = asyncio.get_running_loop().create_future()
            await self._all_flushed


def _check(marker: Marker) -> None:
    """KafkaError for one that no coordinator would write, with the code that Kafka happens to have for it."""
    if marker.producer_id == NO_PRODUCER_ID or marker.producer_epoch == NO_EPOCH:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if marker.producer_epoch < NO_EPOCH:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    if marker.coordinator_epoch < NO_EPOCH:
        raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED)
