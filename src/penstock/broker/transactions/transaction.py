"""One transactional id as it is stored, and the effect of every request on it.

Values are never changed: a step returns the next value, which must be stored before it is reported, or raises a
KafkaError and changes nothing. Nothing here waits, writes or looks at a clock: time is an argument.

Epochs. A request must have the epoch of the id; if not, its sender is fenced (PRODUCER_FENCED). Clients of the
second protocol generation (KIP-890, version 2 below) get a new epoch with the end of every transaction, already in the
prepare record and in the markers, so that nothing they sent for one transaction can touch the next. Epochs end at
32,767, which no client ever sees: after 32,766 the id goes on with a new producer id and epoch 0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from penstock.broker.transactions.states import AT_REST, PREPARED, TransactionState, is_step
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition

NO_PRODUCER_ID = -1
NO_EPOCH = -1
EPOCH_MAX = 0x7FFF
SECOND_GENERATION = 2  # the first level of `transaction.version` that raises epochs at the end of each transaction


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


def is_exhausted(epoch: int) -> bool:
    """Whether this is the last epoch that a client may have: the one above is reserved for fencing it."""
    return epoch >= EPOCH_MAX - 1


class Transaction(NamedTuple):
    """The value of one transactional id in `__transaction_state`. A NamedTuple because every step makes one."""

    transactional_id: str
    producer_id: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    """The epoch before the last InitProducerId, EndTxn v5 or fence: its producer may continue by offering it."""
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id that takes over when the transaction that is being ended is complete."""
    timeout_ms: int = -1
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = -1
    update_ms: int = -1
    version: int = 0
    """Generation of the protocol that its client spoke last: a level of the feature `transaction.version`."""

    @property
    def identity(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, self.epoch)

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.epoch)

    def has_batches_of(self, epoch: int) -> bool:
        """Whether a batch of this epoch can belong to the transaction; other epochs are of earlier or later ones.

        Second generation: once the end is decided, the epoch that is stored is that of the next transaction.
        """
        if self.state not in PREPARED:
            return epoch == self.epoch
        if self.version >= SECOND_GENERATION:
            return epoch == self.epoch - 1
        return epoch in (self.epoch, self.last_epoch)

    def is_overdue(self, now_ms: int) -> bool:
        return self.state is TransactionState.ONGOING and now_ms - self.start_ms > self.timeout_ms

    def is_unused(self, now_ms: int, expiration_ms: int) -> bool:
        return self.state in AT_REST and now_ms - self.update_ms >= expiration_ms

    # --- InitProducerId ----------------------------------------------------------------------------------------------

    def check_offered(self, offered: ProducerIdentity | None) -> None:
        """KIP-360: a producer that goes on after an error names its id and epoch.

        PRODUCER_FENCED if another producer has taken over since.
        """
        if offered is None or self.epoch == NO_EPOCH or offered.producer_id == self.producer_id:
            return
        if offered.producer_id == self.previous_producer_id and is_exhausted(offered.epoch):
            return  # the answer with the new producer id was lost
        raise KafkaError(ErrorCode.PRODUCER_FENCED)

    def needs_new_id(self, offered: ProducerIdentity | None) -> bool:
        """Whether `initialised` takes a new producer id."""
        if offered is None or offered.epoch == self.epoch:
            return self.is_exhausted
        return self.epoch == EPOCH_MAX and offered.epoch == self.last_epoch  # fenced with the last epoch there is

    def initialised(
        self, timeout_ms: int, offered: ProducerIdentity | None, now_ms: int, new_producer_id: int = NO_PRODUCER_ID
    ) -> Transaction:
        """Return the state after InitProducerId: the next epoch, or a new producer id.

        An ongoing transaction becomes `fenced`, to be aborted before the client tries again.
        """
        self.check_offered(offered)
        if self.state in PREPARED:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if self.state is TransactionState.ONGOING:
            return self.fenced()
        producer_id = self.producer_id
        if self.needs_new_id(offered):
            assert new_producer_id != NO_PRODUCER_ID
            producer_id, epoch = new_producer_id, 0
            last_epoch = NO_EPOCH if offered is None else offered.epoch
        else:
            epoch, last_epoch = self._next_epoch(offered)
        return self._step(
            TransactionState.EMPTY,
            now_ms,
            producer_id=producer_id,
            epoch=epoch,
            last_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=-1,
        )

    def _next_epoch(self, offered: ProducerIdentity | None) -> tuple[int, int]:
        """The new epoch, and the one before it if it may be offered again."""
        if offered is None:
            return self.epoch + 1, NO_EPOCH
        if self.epoch == NO_EPOCH or offered.epoch == self.epoch:
            return self.epoch + 1, self.epoch
        if offered.epoch == self.last_epoch:
            return self.epoch, self.last_epoch  # the same request again, or its transaction was aborted for it
        raise KafkaError(ErrorCode.PRODUCER_FENCED)

    def fenced(self) -> Transaction:
        """The value of an ongoing transaction whose client is fenced by a higher epoch, so that it can be aborted.

        Unless another producer takes over meanwhile, the client may continue with the epoch that it had (KIP-360,
        KIP-588).
        """
        return self._step(
            TransactionState.PREPARE_EPOCH_FENCE, self.update_ms, epoch=self.epoch + 1, last_epoch=self.epoch
        )

    # --- partitions --------------------------------------------------------------------------------------------------

    def check_sender(self, sender: ProducerIdentity) -> None:
        if sender.producer_id != self.producer_id:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if sender.epoch != self.epoch or sender.epoch == EPOCH_MAX:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if self.state in PREPARED:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)

    def with_partitions(
        self, sender: ProducerIdentity, partitions: Collection[TopicPartition], now_ms: int, version: int
    ) -> Transaction:
        """The value with further partitions; itself if all of them are in the transaction already."""
        self.check_sender(sender)
        is_ongoing = self.state is TransactionState.ONGOING
        if is_ongoing and self.partitions.issuperset(partitions):
            return self
        return self._step(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.partitions.union(partitions),
            start_ms=self.start_ms if is_ongoing else now_ms,
            version=version,
        )

    # --- the end -----------------------------------------------------------------------------------------------------

    def is_end_repeated(self, sender: ProducerIdentity) -> bool:
        """Second generation: whether this EndTxn is a retry, whose answer with the new epoch was lost."""
        if sender.producer_id == self.producer_id:
            return sender.epoch + 1 == self.epoch < EPOCH_MAX
        is_previous = sender.producer_id == self.previous_producer_id
        return is_previous and sender.epoch == EPOCH_MAX - 1 and self.epoch == 0

    def ended(
        self,
        sender: ProducerIdentity,
        *,
        commit: bool,
        now_ms: int,
        version: int,
        new_producer_id: int = NO_PRODUCER_ID,
    ) -> Transaction:
        """Prepared to commit or abort; itself if that has happened already. A new producer id if it is exhausted."""
        raises_epoch = version >= SECOND_GENERATION
        is_repeated = raises_epoch and self.is_end_repeated(sender)
        if sender.producer_id != self.producer_id and not is_repeated:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if (sender.epoch != self.epoch or sender.epoch == EPOCH_MAX) and not is_repeated:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if is_repeated and self.state in (TransactionState.ONGOING, TransactionState.EMPTY):
            raise KafkaError(ErrorCode.PRODUCER_FENCED)  # its epoch was raised by something other than its end
        if self.state is TransactionState.ONGOING:
            return self.prepared(commit=commit, now_ms=now_ms, version=version, new_producer_id=new_producer_id)
        if self.state in PREPARED:  # whatever the request asks for: it may be an abort of the next transaction
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        done = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        if self.state is done and (is_repeated or not raises_epoch):
            return self
        if raises_epoch and not commit and not is_repeated:  # an abort without a transaction
            return self.prepared(commit=False, now_ms=now_ms, version=version, new_producer_id=new_producer_id)
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    def prepared(
        self, *, commit: bool, now_ms: int, version: int, new_producer_id: int = NO_PRODUCER_ID
    ) -> Transaction:
        """The value with the decision, which is final once it is stored."""
        epoch, last_epoch = self.epoch, self.last_epoch
        is_fenced = self.state is TransactionState.PREPARE_EPOCH_FENCE  # whose epoch is raised already
        if version >= SECOND_GENERATION and not is_fenced:
            epoch, last_epoch = epoch + 1, epoch
        return self._step(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            now_ms,
            epoch=epoch,
            last_epoch=last_epoch,
            next_producer_id=new_producer_id if self.is_exhausted else NO_PRODUCER_ID,
            start_ms=now_ms if self.state in AT_REST else self.start_ms,
            version=version,
        )

    def completed(self, now_ms: int) -> Transaction:
        """The value after the end, when every marker is on disk."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        producer_id, epoch = self.producer_id, self.epoch
        if self.next_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = self.next_producer_id, 0
        return self._step(
            TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            now_ms,
            producer_id=producer_id,
            epoch=epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )

    def dead(self, now_ms: int) -> Transaction:
        return self._step(TransactionState.DEAD, now_ms)

    def _step(self, state: TransactionState, now_ms: int, **changes: Any) -> Transaction:
        if not is_step(self.state, state):
            raise AssertionError(f"{self.transactional_id}: no step from {self.state.name} to {state.name}")
        changes.setdefault("previous_producer_id", self.producer_id)
        return self._replace(state=state, update_ms=now_ms, **changes)
