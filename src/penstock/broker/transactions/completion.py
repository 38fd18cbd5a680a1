"""Transactions that are ending: from the decision, which is on disk, to the last record.

    prepared, on disk  →  a marker in every partition, on disk  →  complete, on disk

Completion needs no request: it continues without the client, and is resumed after a crash. The last record may be left
out when the next transaction's first one is written instead: both say that this one is over.

A wide request appends in turns, and its transaction may be ended between two of them. Then the markers wait until all
its batches are in the logs (`hold_off`): a batch behind the marker would be a transaction that nothing ends. No request
begins to hold off an end that is decided, so those that do are soon done.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.transactions.counters import Ends
from penstock.broker.transactions.markers import RETRY_SECONDS, MarkerWriter
from penstock.broker.transactions.shard import TransactionShard
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode
from penstock.observability.repeats import NAME_LENGTH_MAX
from penstock.runtime.clock import Clock
from penstock.runtime.pauses import pause_at

logger = logging.getLogger(__name__)

HOLD_SECONDS = 0.2  # how long a request waits for the end of the transaction before it
UNSTORED_SECONDS = 0.1  # how long an end that is complete may be known in memory only


class Completions:
    """Completions under way, and their waiters."""

    def __init__(self, markers: MarkerWriter, clock: Clock) -> None:
        self.ends = Ends()
        self._markers = markers
        self._clock = clock
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}  # by transactional id
        self._appending: dict[str, int] = {}  # requests that hold off the end of an id
        self._held_off: dict[str, tuple[TransactionShard, Transaction]] = {}

    def __contains__(self, transactional_id: str) -> bool:
        return transactional_id in self._waiting

    async def wait(self, transactional_id: str) -> None:
        """Wait until the previous transaction is over, or has taken too long to end."""
        waiting = self._waiting.get(transactional_id)
        if waiting is not None:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.append(future)
            await asyncio.wait([future], timeout=HOLD_SECONDS)

    def begin(self, transactional_id: str) -> None:
        """Note that the end of a transaction is about to be stored. `finish` follows, or `over` if that fails."""
        self._waiting.setdefault(transactional_id, [])

    def over(self, transactional_id: str) -> None:
        for future in self._waiting.pop(transactional_id, []):
            if not future.done():
                future.set_result(None)

    def give_up(self) -> None:
        """Release all waiters; the ends themselves are in the log."""
        for transactional_id in tuple(self._waiting):
            self.over(transactional_id)

    def hold_off(self, transactional_id: str) -> bool:
        """Write no markers of the id until `go_on`: batches are appended in turns. False if its end is decided."""
        if transactional_id in self._waiting:
            return False
        self._appending[transactional_id] = self._appending.get(transactional_id, 0) + 1
        return True

    def go_on(self, transactional_id: str) -> None:
        """Note that one request has appended all its batches, or appends no more."""
        self._appending[transactional_id] -= 1
        if not self._appending[transactional_id]:
            del self._appending[transactional_id]
            ended = self._held_off.pop(transactional_id, None)
            if ended is not None:
                self.finish(*ended)

    def finish(self, shard: TransactionShard, prepared: Transaction) -> None:
        """Write the markers, then the last record; only the next transaction of the id waits for it."""
        if prepared.transactional_id in self._appending:
            self._held_off[prepared.transactional_id] = shard, prepared
            return
        is_commit = prepared.state is TransactionState.PREPARE_COMMIT
        marker = Marker(prepared.producer_id, prepared.epoch, shard.epoch, is_commit)

        def marked() -> None:
            pause_at("marked")
            self.ends.count(prepared)
            self._complete(shard, prepared)

        self._markers.write(prepared.partitions, marker, prepared.has_batches_of, marked)

    def _complete(self, shard: TransactionShard, prepared: Transaction) -> None:
        """Complete a transaction whose markers are all on disk.

        A waiter for the id goes on at once, and most likely stores a record that implies this.
        """
        complete = prepared.completed(self._clock.now_ms())
        if shard.state is CoordinatorState.ACTIVE and self._waiting.get(prepared.transactional_id):
            shard.transactions.put(complete)
            asyncio.get_running_loop().call_later(UNSTORED_SECONDS, self._store_complete, shard, complete, complete)
            self.over(prepared.transactional_id)
        else:
            self._store_complete(shard, prepared, complete)

    def _store_complete(self, shard: TransactionShard, before: Transaction, complete: Transaction) -> None:
        """Store the last record, unless there is a newer one. Retried: without it a start writes the markers again."""
        transactional_id = complete.transactional_id
        if shard.state is not CoordinatorState.ACTIVE or shard.transactions.get(transactional_id) is not before:
            return

        def stored(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE and shard.state is CoordinatorState.ACTIVE:
                name = transactional_id[:NAME_LENGTH_MAX]
                logger.error("%s: its end is not stored (%s), trying again", name, code.name)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._store_complete, shard, before, complete)
            else:
                self.over(transactional_id)

        shard.store(complete, self._clock.now_ms(), stored)
