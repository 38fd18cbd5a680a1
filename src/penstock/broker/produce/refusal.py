"""A batch that is refused: counted, logged, and reported to the client."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.broker.produce.transactional import RefusedByCoordinator
from penstock.broker.records.checks import LoopBudget
from penstock.cluster.mirrors import ReadOnlyMirror
from penstock.cluster.partition import Partition
from penstock.model.batch import BatchHeader, Buffer, NotOneBatch, UnreadableBatch
from penstock.model.compression import DecompressedTooLarge
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import InvalidRecords
from penstock.model.timestamps import BadTimestamps, StampedByClient
from penstock.observability.repeats import REFUSED_LINES_MAX, Repeats
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.produce import PartitionResult, RecordError
from penstock.protocol.kafka.topic_key import TopicKey

if TYPE_CHECKING:
    from penstock.broker.broker import Broker

_REFUSED_BY_THE_LOG = frozenset(  # Kafka says where the log begins with these, and only with these
    (
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    )
)
_REFUSED_BEFORE = (NotOneBatch, RefusedByCoordinator)  # whatever the code
_SHOWN = (BadTimestamps, StampedByClient, UnreadableBatch, RefusedByCoordinator, DecompressedTooLarge, ReadOnlyMirror)
"""Refusals with a text, beside those that name records. Kafka gives no text with any other code; it does not have the
last two."""
refused = Repeats(logging.getLogger(__name__), total_max=REFUSED_LINES_MAX)


def refuse(
    broker: Broker,
    client_id: str | None,
    topic: TopicKey,
    partition: int,
    error: KafkaError,
    where: Partition | None,
    named: tuple[RecordError, ...] = (),
) -> PartitionResult:
    broker.metrics.requests.failed(PRODUCE, error.code.name)
    name = topic if isinstance(topic, str) else topic.hex()
    refused.warning(
        (name, error.code),
        "refused a produce of client %s to %s-%d: %s, %s",
        client_id,
        name,
        partition,
        error.code.name,
        error.message,
    )
    log_start = -1
    if where is not None and error.code in _REFUSED_BY_THE_LOG and not isinstance(error, _REFUSED_BEFORE):
        log_start = where.log_start
    message = error.message if named or isinstance(error, _SHOWN) else None
    return PartitionResult(topic, partition, error.code, -1, -1, log_start, named, message)


def named_records(
    error: KafkaError, batch: Buffer, header: BatchHeader, budget: LoopBudget, most: int
) -> tuple[RecordError, ...]:
    """The records that were bad, as far as they are known or quickly found."""
    bad: Sequence[tuple[int, str]] = ()
    if isinstance(error, InvalidRecords):
        bad = error.bad
    elif isinstance(error, BadTimestamps | StampedByClient):
        bad = budget.bad_timestamps(error, batch, header)
    return tuple(RecordError(*each) for each in bad[:most])
