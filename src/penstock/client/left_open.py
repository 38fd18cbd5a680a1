"""Transactions of a producer that its broker has left open in some partitions, though it says that they are aborted.

Apache Kafka does so: a coordinator that starts again and does not know the leader of a partition yet takes it for
deleted, and leaves out its marker. What was written there would be committed with the producer's next transaction. So a
new producer looks first, and writes the missing markers itself, as `kafka-transactions.sh abort` does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.open_transactions import open_producers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import WRITE_TXN_MARKERS

logger = logging.getLogger(__name__)

WRITE_TXN_MARKERS_VERSION = 1
_NOT_ALLOWED = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def end_left_open(cluster: Cluster, producer_id: int, places: Iterable[TopicPartition]) -> None:
    """Abort what a producer has open in partitions; it must have begun no transaction yet.

    Whoever may not read a topic cannot look. KafkaError if there is something, and markers may not be written.
    """
    for place in places:
        try:
            _end(cluster, producer_id, place)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise
            logger.debug("%s: cannot look for transactions that were left open: %s", place, error)


def _end(cluster: Cluster, producer_id: int, place: TopicPartition) -> None:
    for each in open_producers(cluster, place):
        if each.producer_id != producer_id:
            continue
        logger.warning("%s: an aborted transaction was left open at %d", place, each.current_txn_start_offset)
        answer = cluster.leader(place).call(
            WRITE_TXN_MARKERS,
            WRITE_TXN_MARKERS_VERSION,
            markers=[
                {
                    "producer_id": producer_id,
                    "producer_epoch": each.producer_epoch,
                    "coordinator_epoch": max(0, each.coordinator_epoch),
                    "transaction_result": False,
                    "topics": [{"name": place.topic, "partition_indexes": [place.partition]}],
                }
            ],
        )
        code = ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)
        if code in _NOT_ALLOWED:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, _text(place, each.current_txn_start_offset))
        check(code, f"{place}: a marker")


def _text(place: TopicPartition, offset: int) -> str:
    return (
        f"{place} has a transaction of this query from offset {offset} on that the broker has left open; let an "
        f"administrator run `kafka-transactions.sh abort --topic {place.topic} --partition {place.partition} "
        f"--start-offset {offset}`"
    )
