"""How many transactions ended and how, and how many are open where no coordinator knows them: figures for metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.cluster.partition import Partition
from penstock.model.topic_name import TRANSACTION_STATE
from penstock.model.topic_partition import TopicPartition
from penstock.storage.interface import OpenTransaction


@dataclass(slots=True)
class Ends:
    """Since the start of the process. A transaction counts when its end is complete, `timed_out` when it is decided."""

    committed: int = 0
    aborted: int = 0
    """For whatever reason: timeouts and fenced producers are among them."""
    timed_out: int = 0

    def count(self, prepared: Transaction) -> None:
        if not prepared.partitions:
            return  # the abort of nothing, which only raises an epoch
        if prepared.state is TransactionState.PREPARE_COMMIT:
            self.committed += 1
        else:
            self.aborted += 1


def uncoordinated(
    partitions: Iterable[Partition], known: Iterable[Transaction]
) -> Iterator[tuple[Partition, OpenTransaction]]:
    """Transactions that hold back readers of a partition and belong to none that is known."""
    by_producer: dict[int, list[Transaction]] = defaultdict(list)
    for value in known:
        by_producer[value.producer_id].append(value)
    for partition in partitions:
        if partition.topic == TRANSACTION_STATE or partition.mirror:
            continue
        for found in partition.log.open_transactions():
            place = TopicPartition(partition.topic, partition.index)
            if not any(
                place in value.partitions and value.has_batches_of(found.producer_epoch)
                for value in by_producer[found.producer_id]
            ):
                yield partition, found
