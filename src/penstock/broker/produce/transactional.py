"""Checks of a Produce request with transactional batches at the coordinator, before the batches are appended.

Either way the producer id of the batches must be that of the request's transactional id. First generation (up to v11):
partitions were added before, or the request is refused. Second generation (v12+): the request adds them itself. The
coordinator's record is written before the batches, but not waited for: the request is answered when both are on disk,
and a batch that a power cut leaves without its record is found and aborted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.broker.coordination.coordinator_log import Outcome
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.transaction import SECOND_GENERATION, ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.model.batch import TRANSACTIONAL_BIT, BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.turns import Steps

_ATTRIBUTES_LOW = 22
"""Position of the lower byte of a batch's attributes."""
ABORTABLE_VERSION = 11
ADDING_VERSION = 12

_TEXTS = {  # Kafka has texts with these only
    ErrorCode.INVALID_TXN_STATE: "the partition was not added to the transaction",
    ErrorCode.NOT_ENOUGH_REPLICAS: "whether the partition was added to the transaction is not known now",
}
_TRY_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


class RefusedByCoordinator(KafkaError):
    """A batch that the log has not looked at: the answer has nothing of the log in it."""


def has_transactional_batch(batches: Iterable[memoryview | None]) -> bool:
    """Whether any of the bytes are a batch of a transaction, by its header; nothing else about them is checked."""
    return any(
        records is not None and len(records) > _ATTRIBUTES_LOW and records[_ATTRIBUTES_LOW] & TRANSACTIONAL_BIT
        for records in batches
    )


def joining(
    coordinator: TransactionCoordinator,
    version: int,
    transactional_id: str,
    sender: ProducerIdentity,
    partitions: Sequence[Partition],
    stored: Outcome,
) -> Steps[bool]:
    """True if batches may be appended and answered; False if the answer has to wait until `stored` is called as well.

    RefusedByCoordinator with the code for the answer if they must not be appended. Whoever takes turns holds off the
    end of the transaction, so that what is said of the first partition still holds when the last has been looked at.
    """
    adds, places = version >= ADDING_VERSION, list[TopicPartition]()
    try:
        for partition in partitions:
            if not adds:
                verify_partition(coordinator, transactional_id, sender, partition)
            elif is_outdated(partition, sender):
                raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
            else:
                places.append(TopicPartition(partition.topic, partition.index))
            yield
        # Asked for every request: that a batch is in the log does not say that the coordinator knows of it.
        return not adds or coordinator.add_at_once(transactional_id, sender, places, SECOND_GENERATION, stored)
    except KafkaError as error:
        raise refused(error.code, version) from None


def refused(code: ErrorCode, version: int) -> RefusedByCoordinator:
    """The refusal of a batch for the coordinator's reason, as the version has it."""
    shown = _shown(code, version)
    return RefusedByCoordinator(shown, _TEXTS.get(shown, ""))


def is_unknown_start(partition: Partition, header: BatchHeader) -> bool:
    """Second generation: the first batch of a producer that the log does not know has to have the sequence 0."""
    return header.base_sequence != 0 and partition.producer(header.producer_id) is None


def is_outdated(partition: Partition, sender: ProducerIdentity) -> bool:
    """Whether the log has seen a later epoch of the producer."""
    known = partition.producer(sender.producer_id)
    return known is not None and known.producer_epoch > sender.epoch


def has_begun(partition: Partition, sender: ProducerIdentity) -> bool:
    """First generation: whether the producer's transaction is open in this partition, and so was added before."""
    known = partition.producer(sender.producer_id)
    return known is not None and known.current_txn_start_offset >= 0 and known.producer_epoch == sender.epoch


def verify_partition(
    coordinator: TransactionCoordinator, transactional_id: str, sender: ProducerIdentity, partition: Partition
) -> None:
    """KafkaError TRANSACTION_ABORTABLE unless it was added, which is known without asking where it has begun.

    The producer id must be that of the transactional id, always: the right to write was asked for the latter, and a log
    knows only the former. While the coordinator is loading nobody knows it, and the client is told to come again.
    """
    is_own = coordinator.names.get(sender.producer_id) == transactional_id
    if not (is_own and has_begun(partition, sender)):
        coordinator.verify(transactional_id, sender, TopicPartition(partition.topic, partition.index))


def _shown(code: ErrorCode, version: int) -> ErrorCode:
    """Old clients know fewer codes, and go on well after some of them only."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if version < ADDING_VERSION and code in _TRY_AGAIN:
        return ErrorCode.NOT_ENOUGH_REPLICAS  # which makes them send it again
    if version < ABORTABLE_VERSION and code is ErrorCode.TRANSACTION_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return code
