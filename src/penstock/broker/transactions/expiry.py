"""Expiry of transactions and of transactional ids: what clients leave behind ends by itself.

Once a second, a sweep aborts transactions that have been open for longer than their clients allowed, and forgets ids
that have not been used for days. Loop thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from penstock.broker.transactions.counters import Ends
from penstock.broker.transactions.shard import TransactionShard
from penstock.broker.transactions.transaction import Transaction
from penstock.config.settings import TransactionSettings
from penstock.model.errors import KafkaError
from penstock.observability.repeats import NAME_LENGTH_MAX, Repeats
from penstock.runtime.clock import Clock

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
LINES_MAX = 1_000  # a minute about overdue transactions: a client may open as many as it likes, for a millisecond each
FORGOTTEN_PER_SWEEP = 5  # of each shard: each costs a record, and requests must not wait for thousands of them


class TransactionExpiry:
    """`abort` fences the client of an open transaction and aborts it; False if it has ended meanwhile."""

    def __init__(
        self,
        shards: Iterable[TransactionShard],
        settings: TransactionSettings,
        clock: Clock,
        ends: Ends,
        abort: Callable[[Transaction], Awaitable[bool]],
    ) -> None:
        self._shards = shards
        self._settings = settings
        self._clock = clock
        self._ends = ends
        self._abort = abort
        self._overdue = Repeats(logger, total_max=LINES_MAX)

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.abort_overdue()
                self.forget_unused()
            except Exception:  # an error with one of them must not keep the others open
                logger.exception("transactions: a look for overdue ones failed")

    async def abort_overdue(self) -> None:
        """End transactions that were open for longer than their clients allowed."""
        now_ms = self._clock.now_ms()
        for value in [value for shard in self._shards for value in shard.transactions.overdue(now_ms)]:
            name = value.transactional_id[:NAME_LENGTH_MAX]
            try:
                self._overdue.warning(name, "%s: aborted, it was open for more than %d ms", name, value.timeout_ms)
                if await self._abort(value):
                    self._ends.timed_out += 1
            except KafkaError as error:
                self._overdue.warning((name, error.code), "%s is overdue and cannot be aborted now: %r", name, error)

    def forget_unused(self) -> None:
        """Forget ids that have not been used for days, a few at a time."""
        now_ms = self._clock.now_ms()
        for shard in self._shards:
            for value in shard.transactions.unused(now_ms, self._settings.id_expiration_ms, FORGOTTEN_PER_SWEEP):
                shard.remove(value.dead(now_ms), now_ms, lambda code: None)
