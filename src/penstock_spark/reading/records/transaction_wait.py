"""Patience with an open transaction, which holds back records that were asked for; they are not lost.

In the end the transaction is named, with what ends it. Without the right to ask, the partition and the offset are.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime

from penstock.client.cluster import Cluster
from penstock.client.open_transactions import OpenTransaction, open_transactions
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import HeldBack

logger = logging.getLogger(__name__)

WAIT_S = 120.0


class TransactionWait:
    """The wait of one range reader; it starts again whenever records have come."""

    def __init__(self, place: TopicPartition) -> None:
        self._place = place
        self.limit_s = WAIT_S
        self._position = -1
        self._since = 0.0

    def wait(self, cluster: Cluster, position: int, last_stable: int) -> None:
        """Note that nothing came at a position; HeldBack once that is so for too long. The fetch itself has waited."""
        now = time.monotonic()
        if position != self._position:
            self._position, self._since = position, now
            logger.info("%s: waiting for a transaction that is open from offset %d on", self._place, last_stable)
        elif now - self._since >= self.limit_s:
            raise HeldBack(self._told(cluster, last_stable))

    def _told(self, cluster: Cluster, last_stable: int) -> str:
        try:
            found = open_transactions(cluster, self._place)
        except KafkaError:  # without the right
            found = []
        who, remedy = _described(self._place, found[0]) if found else ("a transaction", "penstock transaction list")
        return (
            f"{self._place}: {who} is open and holds back the records from offset {last_stable} on, which were asked "
            f"for. They are waited for as long as kafkaConsumer.pollTimeoutMs says, {self.limit_s:g} s; when the "
            f"producer has ended it, the query can run again. To abort it: {remedy}"
        )


def _described(place: TopicPartition, found: OpenTransaction) -> tuple[str, str]:
    """A transaction, and the command that aborts it."""
    producer = f"of producer {found.producer_id}"
    if not found.transactional_id:
        where = f"--topic {place.topic} --partition {place.partition} --producer-id {found.producer_id}"
        return f"a transaction {producer}", f"penstock transaction abort {where}"
    since = f", since {datetime.fromtimestamp(found.since_ms / 1000, UTC):%F %T} UTC" if found.since_ms >= 0 else ""
    return f"the transaction {found.transactional_id} ({producer}{since})", (
        f"penstock transaction abort {found.transactional_id}"
    )
