"""Open transactions in a partition, which hold back readers of committed records: who has begun them, and when.

Partitions know producers, coordinators know transactional ids; both are asked. Ends no transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.connection import Connection
from penstock.client.entities import build
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS
from penstock.protocol.kafka.describe_transactions import DescribedTransaction, decode
from penstock.protocol.kafka.messages import encode, request_schema
from penstock.protocol.kafka.primitives import INT32

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.describe_producers import ProducerState

_HEADER_BYTES = INT32.size + 1  # correlation id and no tags


class OpenTransaction(NamedTuple):
    producer_id: int
    start_offset: int
    """In the partition that was asked."""
    transactional_id: str = ""
    """Empty if no coordinator knows it, or if we may not know."""
    since_ms: int = -1
    """-1 if unknown."""


def open_transactions(cluster: Cluster, place: TopicPartition) -> list[OpenTransaction]:
    """The open transactions of a partition, the one that holds back readers first. KafkaError without the right."""
    return cluster.patiently(lambda: [_known(cluster, each) for each in _found(cluster, place)])


def _found(cluster: Cluster, place: TopicPartition) -> list[OpenTransaction]:
    producers = open_producers(cluster, place)
    found = [OpenTransaction(each.producer_id, each.current_txn_start_offset) for each in producers]
    return sorted(found, key=lambda each: each.start_offset)


def open_producers(cluster: Cluster, place: TopicPartition) -> list[ProducerState]:
    """The producers with an open transaction in a partition, as its leader tells. KafkaError without the right."""
    answer = cluster.leader(place).call(
        DESCRIBE_PRODUCERS, 0, topics=[{"name": place.topic, "partition_indexes": [place.partition]}]
    )
    (partition,) = answer.topics[0].partitions
    check(partition.error_code, str(place))
    return [each for each in partition.active_producers if each.current_txn_start_offset >= 0]


def _known(cluster: Cluster, found: OpenTransaction) -> OpenTransaction:
    """Add what coordinators know."""
    for connection in cluster.all_connections():
        answer = connection.call(LIST_TRANSACTIONS, 0, state_filters=[], producer_id_filters=[found.producer_id])
        for each in answer.transaction_states:
            return found._replace(
                transactional_id=each.transactional_id, since_ms=_since_ms(connection, each.transactional_id)
            )
    return found


def _since_ms(coordinator: Connection, transactional_id: str) -> int:
    found = described(coordinator, transactional_id)
    return -1 if found.error else found.start_ms


def described(coordinator: Connection, transactional_id: str) -> DescribedTransaction:
    """A transactional id as its coordinator knows it."""
    request = build(request_schema(DESCRIBE_TRANSACTIONS, 0), {"transactional_ids": [transactional_id]})
    answer = coordinator.exchange(DESCRIBE_TRANSACTIONS, 0, encode(request), flexible=True)
    (found,) = decode(answer, _HEADER_BYTES)
    return found
