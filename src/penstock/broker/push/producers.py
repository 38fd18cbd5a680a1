"""The producers that push clients publish as: a durable pair of client id and epoch, and its producer id.

With a producer id, the log's own producer state recognises messages that are sent again, even after a crash. A larger
epoch is a new incarnation of the client and gets another id, so that its sequences start again; a smaller one is
refused.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.clock import Clock
from penstock.storage.metadata.push_producers import PushProducerRow, StoredPushProducers

CACHED_MAX: Final = 20_000
UNUSED_MS: Final = 7 * 24 * 3600 * 1000
TOUCH_MS: Final = 24 * 3600 * 1000


class PushProducers:
    """The producers of all push clients. Those in use are in memory; the rest are in meta.db."""

    def __init__(self, store: StoredPushProducers, producer_ids: ProducerIds, clock: Clock) -> None:
        self._store = store
        self._producer_ids = producer_ids
        self._clock = clock
        self._known: OrderedDict[str, PushProducerRow] = OrderedDict()
        self._lock = asyncio.Lock()

    def find(self, client_id: str, epoch: int) -> int | None:
        """The producer id, or None if it must be made with `ensure`. KafkaError for an epoch that is over."""
        row = self._known.get(client_id)
        if row is None or self._clock.now_ms() - row.used_ms > TOUCH_MS:
            return None
        return self._check(row, epoch)

    def _check(self, row: PushProducerRow, epoch: int) -> int | None:
        if epoch < row.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"client {row.client_id!r} has published with epoch {row.epoch}, this is {epoch}; "
                "another client with the same id is newer",
            )
        return row.producer_id if epoch == row.epoch else None

    async def ensure(self, client_id: str, epoch: int) -> int:
        """Make a producer id; it is durable when this returns."""
        if not client_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a PUBLISH with a sequence needs a client id")
        async with self._lock:
            row = self._known.get(client_id) or await asyncio.to_thread(self._store.get, client_id)
            known = None if row is None else self._check(row, epoch)
            producer_id = await self._producer_ids.next() if known is None else known
            changed = PushProducerRow(client_id, epoch, producer_id, self._clock.now_ms())
            await asyncio.to_thread(self._store.put, changed)
            self._known[client_id] = changed
            self._known.move_to_end(client_id)
            if len(self._known) > CACHED_MAX:
                self._known.popitem(last=False)
            return producer_id

    async def forget_unused(self) -> int:
        """Forget clients that have not published for a long time. Returns how many."""
        return await asyncio.to_thread(self._store.forget, self._clock.now_ms() - UNUSED_MS)
