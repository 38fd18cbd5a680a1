"""One partition of `__transaction_state` and the transactional ids that live in it.

A value counts from the moment its record is in the log: later requests build on it at once, and each is answered when
its own record is on disk. So requests of one id need not wait for each other's flush.
"""

from __future__ import annotations

import logging

from penstock.broker.coordinator_log import Breath, CoordinatorLog, CoordinatorState, Outcome
from penstock.broker.record_wire import MalformedRecord
from penstock.broker.transactions import records
from penstock.broker.transactions.table import TransactionTable
from penstock.broker.transactions.transaction import Transaction
from penstock.cluster.partition import Partition
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import KafkaError
from penstock.model.records import batch_records

log = logging.getLogger(__name__)


class TransactionShard(CoordinatorLog):
    """Transactions by transactional id."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.transactions = TransactionTable()

    @property
    def epoch(self) -> int:
        """Of the coordinator, as markers have it."""
        return self.partition.leader_epoch

    def store(self, value: Transaction, now_ms: int, outcome: Outcome) -> None:
        record = NewRecord(records.encode_key(value.transactional_id), records.encode_value(value))

        def appended(_: int) -> None:
            self.transactions.put(value)

        self.append_batch(build_batch([record], timestamp=now_ms), now_ms, outcome, appended)

    def remove(self, value: Transaction, now_ms: int, outcome: Outcome) -> None:
        """A tombstone: the id was not used for long."""
        record = NewRecord(records.encode_key(value.transactional_id), None)

        def appended(_: int) -> None:
            self.transactions.discard(value.transactional_id)

        self.append_batch(build_batch([record], timestamp=now_ms), now_ms, outcome, appended)

    def forget_all(self) -> None:
        self.transactions.clear()

    async def load(self) -> None:
        """Fill it from its log and make it active; it fails if that cannot be read to the end."""
        name = f"{self.partition.topic}-{self.partition.index}"
        breath = Breath()
        unknown = 0
        try:
            async for buffer, position, header in self.batches():
                if header.is_control:
                    continue
                for record in batch_records(buffer, header, position):
                    unknown += not self._restore(record.key, record.value)
                    await breath.take()
        except (KafkaError, OSError) as error:
            log.error("%s cannot be loaded: %r", name, error)
            self.fail()
            return
        if unknown:
            log.warning("%s: %d records were not understood", name, unknown)
        self.state = CoordinatorState.ACTIVE

    def _restore(self, key: bytes | None, value: bytes | None) -> bool:
        """Put one record's meaning into the shard; False if it has none that we know."""
        try:
            transactional_id = None if key is None else records.decode_key(key)
            if transactional_id is None:
                return False
            if value is None:
                self.transactions.discard(transactional_id)
            else:
                self.transactions.put(records.decode_value(transactional_id, value))
        except MalformedRecord:
            return False
        return True
