"""One partition of `__transaction_state` and the transactional ids that live in it.

A value counts from the moment its record is in the log: later requests build on it at once, and each is answered when
its own record is on disk. So requests of one id need not wait for each other's flush.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.broker.coordination.coordinator_log import CoordinatorLog, CoordinatorState, Outcome, batch_items
from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.transactions import records
from penstock.broker.transactions.table import TransactionTable
from penstock.broker.transactions.transaction import Transaction
from penstock.cluster.partition import Partition
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import KafkaError
from penstock.runtime.turns import Turns

logger = logging.getLogger(__name__)


class TransactionShard(CoordinatorLog):
    """Transactions by transactional id."""

    def __init__(self, partition: Partition, names: dict[int, str] | None = None) -> None:
        super().__init__(partition)
        self.transactions = TransactionTable(names)

    @property
    def epoch(self) -> int:
        """Coordinator epoch, as in markers."""
        return self.partition.leader_epoch

    def store(self, value: Transaction, now_ms: int, outcome: Outcome) -> None:
        record = NewRecord(records.encode_key(value.transactional_id), records.encode_value(value))

        def appended(_: int) -> None:
            self.transactions.put(value)

        self.append_batch(build_batch([record], timestamp=now_ms), now_ms, outcome, appended)

    def remove(self, value: Transaction, now_ms: int, outcome: Outcome) -> None:
        """Write a tombstone for an id that has not been used for a long time."""
        record = NewRecord(records.encode_key(value.transactional_id), None)

        def appended(_: int) -> None:
            self.transactions.discard(value.transactional_id)

        self.append_batch(build_batch([record], timestamp=now_ms), now_ms, outcome, appended)

    def forget_all(self) -> None:
        self.transactions.clear()

    async def load(self) -> None:
        """Fill the shard from its log and make it active.

        It fails if the log cannot be read to the end, or holds a value that cannot be decoded: the decision in it must
        not be undone. Keys of unknown kinds are skipped, as in Kafka.
        """
        turns = Turns()
        unknown = 0
        try:
            for key, value in (await self._newest(turns)).items():
                unknown += not self._restore(key, value)
                await turns.pause()
        except (KafkaError, MalformedRecord, OSError) as error:
            logger.error("%s-%d cannot be loaded: %r", self.partition.topic, self.partition.index, error)
            self.fail()
            return
        if unknown:
            logger.warning("%s-%d: %d keys were not understood", self.partition.topic, self.partition.index, unknown)
        await asyncio.sleep(0)  # many small shards together take long, too
        self.state = CoordinatorState.ACTIVE

    async def _newest(self, turns: Turns) -> dict[bytes, bytes | None]:
        """The newest value of each key in log order, None for a tombstone: a busy id has thousands of values in the
        log.
        """
        newest: dict[bytes, bytes | None] = {}
        async for piece in self.pieces():
            for position, header in iter_headers(piece):
                if not header.is_control:
                    for key, value in batch_items(piece, position, header):
                        newest.pop(key or b"", None)
                        newest[key or b""] = value
                await turns.pause()
        return newest

    def _restore(self, key: bytes, value: bytes | None) -> bool:
        """Apply one record to the shard; False if its key is of an unknown kind. MalformedRecord for its value."""
        try:
            transactional_id = records.decode_key(key)
        except MalformedRecord:
            transactional_id = None
        if transactional_id is None:
            return False
        if value is not None:
            self.transactions.put(records.decode_value(transactional_id, value))
        return True
