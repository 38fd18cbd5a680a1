"""Transactions of a producer that its broker has left open in some partitions, though it says that they have ended.

Apache Kafka does so: a coordinator that starts again and does not know the leader of a partition yet takes it for
deleted, and leaves out its marker. What was written there would end as the producer's next transaction does. So a new
producer asks the coordinator how the last one has ended, looks for what is left, and writes the missing markers itself,
as `kafka-transactions.sh abort` does.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable

from penstock.client.answer_error import check
from penstock.client.cluster import TRANSACTION, Cluster
from penstock.client.open_transactions import described, open_producers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import WRITE_TXN_MARKERS

logger = logging.getLogger(__name__)

WRITE_TXN_MARKERS_VERSION = 1
_NOT_ALLOWED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class LastEnd(enum.Enum):
    """The end of the last transaction of a producer."""

    COMMITTED = enum.auto()
    ABORTED = enum.auto()
    UNKNOWN = enum.auto()


_ENDS = {
    "PrepareCommit": LastEnd.COMMITTED,
    "CompleteCommit": LastEnd.COMMITTED,
    "Ongoing": LastEnd.ABORTED,  # by the new producer
    "PrepareEpochFence": LastEnd.ABORTED,
    "PrepareAbort": LastEnd.ABORTED,
    "CompleteAbort": LastEnd.ABORTED,
}


def last_end(cluster: Cluster, transactional_id: str) -> LastEnd:
    """The end of the last transaction of an id, before a new producer begins; it is unknown once one has begun."""
    found = described(cluster.coordinator(TRANSACTION, transactional_id), transactional_id)
    return LastEnd.UNKNOWN if found.error else _ENDS.get(found.state, LastEnd.UNKNOWN)


def end_left_open(cluster: Cluster, producer_id: int, places: Iterable[TopicPartition], end: LastEnd) -> None:
    """End what a producer has open in partitions; it must have begun no transaction yet.

    Whoever may not read a topic cannot look. KafkaError if there is something, and markers may not be written, or
    nobody knows which.
    """
    for place in places:
        try:
            _end(cluster, producer_id, place, end)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise
            logger.debug("%s: cannot look for transactions that were left open: %s", place, error)


def _end(cluster: Cluster, producer_id: int, place: TopicPartition, end: LastEnd) -> None:
    for each in open_producers(cluster, place):
        if each.producer_id != producer_id:
            continue
        offset = each.current_txn_start_offset
        if end is LastEnd.UNKNOWN:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, _text(place, offset))
        logger.warning("%s: a transaction was left open at %d, and is %s now", place, offset, end.name.lower())
        answer = cluster.leader(place).call(
            WRITE_TXN_MARKERS,
            WRITE_TXN_MARKERS_VERSION,
            markers=[
                {
                    "producer_id": producer_id,
                    "producer_epoch": each.producer_epoch,
                    "coordinator_epoch": max(0, each.coordinator_epoch),
                    "transaction_result": end is LastEnd.COMMITTED,
                    "topics": [{"name": place.topic, "partition_indexes": [place.partition]}],
                }
            ],
        )
        code = ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)
        if code in _NOT_ALLOWED:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, _text(place, offset, end))
        check(code, f"{place}: a marker")


def _text(place: TopicPartition, offset: int, end: LastEnd = LastEnd.UNKNOWN) -> str:
    what = f"{place} has a transaction of this query from offset {offset} on that the broker has left open"
    if end is LastEnd.COMMITTED:
        return (
            f"{what}, though it is committed; give this principal ClusterAction or Alter of the cluster, so that it can"
            " write the missing marker"
        )
    how = ""
    if end is LastEnd.UNKNOWN:
        how = ", and nobody knows how it ended: if these records are not in the output of a batch that is complete"
    return (
        f"{what}{how}; let an administrator run `kafka-transactions.sh abort --topic {place.topic} --partition"
        f" {place.partition} --start-offset {offset}`"
    )
