"""The producers that push clients publish as: a durable row for each client, with its epoch and producer id.

With a producer id, the log's own producer state recognises messages that are sent again, even after a crash. A larger
epoch is a new incarnation of the client and gets another id, so that its sequences start again; a smaller one is
refused. A client is a principal and a client id, so that nobody can end the epoch of another principal's client, and
while there are rules nobody else writes a batch under its producer id over Kafka.

A row is made by merely publishing, so there are bounds: on the length of a client id, on the number of rows
(`push.producers_max`), and on the time for which an unused one is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from weakref import WeakValueDictionary

from penstock.broker.produce.producer_owners import ProducerOwners
from penstock.broker.shares import share_of
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CLIENT_ID_BYTES_MAX
from penstock.observability.repeats import Repeats
from penstock.runtime.clock import Clock
from penstock.security.principal import Principal
from penstock.storage.metadata.push_producers import PushProducerRow, StoredPushProducers

logger = logging.getLogger(__name__)

CACHED_MAX: Final = 20_000
UNUSED_MS: Final = 7 * 24 * 3600 * 1000
TOUCH_MS: Final = 24 * 3600 * 1000
FORGET_INTERVAL_MS: Final = 3600 * 1000


class PrincipalProducers:
    """The producers of one principal that are in memory, by client id. `PushProducers` owns them."""

    __slots__ = ("__weakref__", "_all", "principal", "rows")

    def __init__(self, principal: str, producers: PushProducers) -> None:
        self.principal = principal
        self.rows: dict[str, PushProducerRow] = {}
        self._all = producers

    def find(self, client_id: str, epoch: int) -> int | None:
        """The producer id, or None if it must be made with `ensure`. KafkaError for an epoch that is over."""
        row = self.rows.get(client_id)
        if row is None or self._all.clock.now_ms() - row.used_ms > TOUCH_MS:
            return None
        return check_epoch(row, epoch)

    async def ensure(self, client_id: str, epoch: int) -> int:
        """Make a producer id; it is durable when this returns."""
        return await self._all.ensure(self, client_id, epoch)


class PushProducers:
    """The producers of all push clients. Those in use are in memory; the rest are in meta.db.

    `owners` has the owner of every row while there are rules, and of the rows of earlier starts from the beginning.
    """

    def __init__(
        self,
        store: StoredPushProducers,
        producer_ids: ProducerIds,
        clock: Clock,
        count_max: int,
        owners: ProducerOwners | None = None,
        has_share: Callable[[str], bool] = lambda principal: False,
    ) -> None:
        """`has_share` tells whether a principal may have its share only."""
        self.clock = clock
        self._store = store
        self._producer_ids = producer_ids
        self._owners = owners
        self._count_max = count_max
        self._has_share = has_share
        self._count: int | None = None  # of rows in the store, once it was asked for
        self._counts: dict[str, int] = {}  # the same, of principals that have a share
        self._principals: WeakValueDictionary[str, PrincipalProducers] = WeakValueDictionary()
        self._recent: OrderedDict[tuple[str, str], PrincipalProducers] = OrderedDict()  # rows in memory, oldest first
        self._lock = asyncio.Lock()
        self._repeats = Repeats(logger)

    def of(self, principal: Principal) -> PrincipalProducers:
        """The producers of a principal, which its connections share."""
        name = str(principal)
        found = self._principals.get(name)
        if found is None:
            found = self._principals[name] = PrincipalProducers(name, self)
        return found

    async def ensure(self, own: PrincipalProducers, client_id: str, epoch: int) -> int:
        """Make the producer id of a principal's client; it is durable when this returns."""
        if not client_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a PUBLISH with a sequence needs a client id")
        async with self._lock:
            row = own.rows.get(client_id) or await asyncio.to_thread(self._store.get, own.principal, client_id)
            if row is None:
                await self._check_new(own.principal, client_id)
            known = None if row is None else check_epoch(row, epoch)
            producer_id = await self._producer_ids.next() if known is None else known
            changed = PushProducerRow(own.principal, client_id, epoch, producer_id, self.clock.now_ms())
            await asyncio.to_thread(self._store.put, changed)
            if self._owners is not None:
                if row is not None:
                    self._owners.release([row.producer_id])
                self._owners.keep([(producer_id, Principal.of(own.principal))])
            if row is None and self._count is not None:
                self._count += 1
                if own.principal in self._counts:
                    self._counts[own.principal] += 1
            self._remember(own, changed)
            return producer_id

    async def _check_new(self, principal: str, client_id: str) -> None:
        if len(client_id.encode()) > CLIENT_ID_BYTES_MAX:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"a client id of more than {CLIENT_ID_BYTES_MAX} bytes cannot publish with a sequence;"
                " choose a shorter one",
            )
        if self._count is None:
            self._count = await asyncio.to_thread(self._store.count)
        if self._count >= self._count_max:
            text = (
                f"{self._count} push clients that publish with sequences are the most; use fewer client ids, wait until"
                " unused ones are forgotten after 7 days, or raise push.producers_max"
            )
            self._repeats.warning("full", "a push client was refused: %s", text)
            raise KafkaError(ErrorCode.POLICY_VIOLATION, text)
        if self._has_share(principal):
            await self._check_share(principal)

    async def _check_share(self, principal: str) -> None:
        if principal not in self._counts:
            self._counts[principal] = await asyncio.to_thread(self._store.count_of, principal)
        most = share_of(self._count_max)
        if self._counts[principal] >= most:
            text = (
                f"{most} push clients that publish with sequences are the most of one principal; use fewer client ids,"
                " wait until unused ones are forgotten after 7 days, or raise push.producers_max"
            )
            raise KafkaError(ErrorCode.POLICY_VIOLATION, text)

    def _remember(self, own: PrincipalProducers, row: PushProducerRow) -> None:
        own.rows[row.client_id] = row
        key = (own.principal, row.client_id)
        self._recent[key] = own
        self._recent.move_to_end(key)
        if len(self._recent) > CACHED_MAX:
            self._drop(next(iter(self._recent)))

    def _drop(self, key: tuple[str, str]) -> None:
        self._recent.pop(key).rows.pop(key[1], None)

    async def forget_unused(self) -> int:
        """Forget clients that have not published for a long time. Returns how many."""
        async with self._lock:
            before_ms = self.clock.now_ms() - UNUSED_MS
            for key in [key for key, own in self._recent.items() if own.rows[key[1]].used_ms < before_ms]:
                self._drop(key)
            forgotten = await asyncio.to_thread(self._store.forget, before_ms)
            if self._owners is not None:
                self._owners.release(forgotten)
            self._count = None
            self._counts = {}
            return len(forgotten)


def check_epoch(row: PushProducerRow, epoch: int) -> int | None:
    """The producer id of an epoch; None if the epoch is new. KafkaError if it is over."""
    if epoch < row.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"client {row.client_id!r} has published with epoch {row.epoch}, this is {epoch}; "
            "another client with the same id is newer",
        )
    return row.producer_id if epoch == row.epoch else None
