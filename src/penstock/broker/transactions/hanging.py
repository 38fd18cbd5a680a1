"""Hanging transactions: open in a partition, unknown to every coordinator, and in the way of read_committed consumers.

A crash can leave them behind, or the loss of a part of the coordinator's topic. Those that are found when a log is
opened are aborted; for the others there is the metric, and the abort by hand.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from penstock.broker.coordination.coordinator_log import resolving
from penstock.broker.coordination.coordinator_shards import CoordinatorShards
from penstock.broker.transactions.markers import MarkerWriter
from penstock.broker.transactions.shard import TransactionShard
from penstock.broker.transactions.states import PREPARED
from penstock.broker.transactions.transaction import EPOCH_MAX, Transaction
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import TRANSACTION_STATE
from penstock.model.topic_partition import TopicPartition
from penstock.storage.interface import OpenTransaction


class HangingTransactions:
    """Hanging transactions of all open partitions.

    Other tasks may run between two partitions. `known` are the open ones of all shards.
    """

    def __init__(
        self,
        partitions: PartitionTable,
        markers: MarkerWriter,
        shards: CoordinatorShards[TransactionShard],
        known: Callable[[], list[Transaction]],
    ) -> None:
        self._partitions = partitions
        self._markers = markers
        self._shards = shards
        self._known = known

    def __iter__(self) -> Iterator[tuple[Partition, OpenTransaction]]:
        return self._among(self._partitions.opened())

    def _among(self, partitions: Iterable[Partition]) -> Iterator[tuple[Partition, OpenTransaction]]:
        by_producer: dict[int, list[Transaction]] = defaultdict(list)
        for value in self._known():
            by_producer[value.producer_id].append(value)
        for partition in partitions:
            if partition.topic == TRANSACTION_STATE or partition.mirror:
                continue
            for found in partition.open_transactions():
                place = TopicPartition(partition.topic, partition.index)
                if not any(
                    place in value.partitions and value.has_batches_of(found.producer_epoch)
                    for value in by_producer[found.producer_id]
                ):
                    yield partition, found

    @property
    def count(self) -> int:
        """The number of hanging transactions, including those whose shard has failed."""
        return 0 if self._shards.is_loading else sum(1 for _ in self)

    def abort_in(self, partition: Partition) -> None:
        """Abort transactions that are open in a log and unknown to the coordinator: nothing else ever ends them."""
        if partition.mirror:
            return  # its markers come from the root
        if partition.topic == TRANSACTION_STATE or not self._shards.all_are_active:
            return  # a transaction that is not found here may belong to a shard that is not loaded
        found = partition.open_transactions()
        known = {value.producer_id: value for value in self._known()} if found else {}
        place = TopicPartition(partition.topic, partition.index)
        for each in found:
            value = known.get(each.producer_id)
            if value is None or place not in value.partitions or not _accounts_for(value, each):
                self._markers.abort_unknown(partition, _end_of(each))

    async def abort(self, place: TopicPartition, producer_id: int) -> None:
        """Abort one by hand. Its marker is on disk when this returns.

        KafkaError COORDINATOR_NOT_AVAILABLE while some transactions are not known, INVALID_TXN_STATE if there is no
        such transaction.
        """
        if not self._shards.all_are_active:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        partition = self._partitions.get(place.topic, place.partition)
        for _, found in self._among([partition]):
            if found.producer_id == producer_id:
                break
        else:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)
        future: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        self._markers.write_one(place, _end_of(found), resolving(future))
        code = await future
        if code is not ErrorCode.NONE:
            raise KafkaError(code)


def _end_of(found: OpenTransaction) -> Marker:
    """The marker for a hanging transaction. It has the next epoch, which fences a producer that is still running."""
    epoch = min(found.producer_epoch + 1, EPOCH_MAX)
    return Marker(found.producer_id, epoch, max(found.coordinator_epoch, 0), is_commit=False)


def _accounts_for(value: Transaction, found: OpenTransaction) -> bool:
    """Whether an end that is being written covers the transaction: it ends all it finds (`MarkerWriter.fitting`)."""
    return value.state in PREPARED or value.has_batches_of(found.producer_epoch)
