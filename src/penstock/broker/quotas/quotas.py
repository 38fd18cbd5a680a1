"""The quotas of a node: the book, made durable, and the meters whose limits it sets.

Owned by the broker. Without quotas there is no cost: the parts that enforce quotas are notified when the first is set
and when the last is removed (`subscribe`), and do not touch requests in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from penstock.broker.quotas.addresses import AddressQuotas, resolve
from penstock.broker.quotas.bucket import Bucket
from penstock.broker.quotas.entity import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Entity,
    entity_of_text,
    entity_text,
)
from penstock.broker.quotas.meters import ClientMeters
from penstock.broker.quotas.quota_table import Alteration, Change, Component, QuotaTable
from penstock.broker.quotas.rate import Rate
from penstock.cluster.controller.commands import Commands
from penstock.model.errors import KafkaError
from penstock.model.text.address import literal
from penstock.observability.quota_probe import QuotaProbe
from penstock.runtime.clock import Clock
from penstock.storage.metadata.quotas import StoredQuotas


class Quotas:
    """Single writer of the quota table, and the one owner of all meters."""

    def __init__(self, *, store: StoredQuotas, commands: Commands, clock: Clock, probe: QuotaProbe) -> None:
        self.probe = probe
        self.produce: ClientMeters[Rate] = ClientMeters(Rate)
        self.fetch: ClientMeters[Rate] = ClientMeters(Rate)
        self.request: ClientMeters[Rate] = ClientMeters(Rate)
        self.mutation: ClientMeters[Bucket] = ClientMeters(Bucket)
        self.addresses = AddressQuotas()
        self._meters: dict[str, ClientMeters[Any]] = {
            PRODUCER_BYTE_RATE: self.produce,
            CONSUMER_BYTE_RATE: self.fetch,
            REQUEST_PERCENTAGE: self.request,
            CONTROLLER_MUTATION_RATE: self.mutation,
        }
        self._store = store
        self._commands = commands
        self._clock = clock
        self._table = QuotaTable()
        self._resolved: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    def __len__(self) -> int:
        """Entities with quotas."""
        return len(self._table)

    def now_ms(self) -> int:
        return self._clock.monotonic_ms()

    @property
    def limits_clients(self) -> bool:
        return bool(self.produce or self.fetch or self.request or self.mutation)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call the listener whenever limits have changed."""
        self._listeners.append(listener)

    def load(self) -> None:
        """Load the quotas from the store, without a loop."""
        self._apply([Change(entity_of_text(text), key, float(value)) for text, key, value in self._store.all()])

    async def resolve_names(self) -> None:
        """Find the addresses of hosts that have quotas by name; after `load`, where waiting is allowed."""
        entities = [entity for entity in self._table if IP in dict(entity)]
        found = await _resolved(entities)
        self._resolved |= found
        named = [entity for entity in entities if dict(entity)[IP] in found]
        self._apply([Change(entity, key, value) for entity in named for key, value in self._table.values(entity)])

    # --- changing and asking -----------------------------------------------------------------------------------------

    async def alter(
        self, alterations: Sequence[Alteration], *, validate_only: bool = False
    ) -> dict[Entity, KafkaError | None]:
        """Change quotas; a result for each entity. Valid changes are stored together; KafkaError if that fails."""
        hosts = await _resolved(alteration.entity for alteration in alterations)
        results, changes = self._table.plan(alterations, lambda host: literal(host) is not None or host in hosts)
        if changes and not validate_only:
            rows = [(entity_text(entity), key, _text(value)) for entity, key, value in changes]

            def show() -> None:
                self._resolved |= hosts
                self._apply(changes)

            await self._commands.change_store(lambda: self._store.change(rows), then=show)
        return results

    def matching(self, components: Sequence[Component], *, strict: bool) -> Iterator[Entity]:
        return self._table.matching(components, strict=strict)

    def values(self, entity: Entity) -> list[tuple[str, float]]:
        return self._table.values(entity)

    # --- enforcing ---------------------------------------------------------------------------------------------------

    def _apply(self, changes: Sequence[Change]) -> None:
        self._table.apply(changes)
        for entity, key, value in changes:
            if key == CONNECTION_CREATION_RATE:
                self._limit_address(dict(entity)[IP], value)
            elif key in self._meters:
                self._meters[key].set_limit(entity, value)
        for listener in self._listeners:
            listener()

    def _limit_address(self, name: str | None, limit: float | None) -> None:
        if name is None:
            self.addresses.set_limit(None, limit)
            return
        address = literal(name) or self._resolved.get(name)
        if address is not None:
            self.addresses.set_limit(address, limit)
        if limit is None:
            self._resolved.pop(name, None)


async def _resolved(entities: Iterable[Entity]) -> dict[str, str]:
    """Addresses of the hosts that entities name, where they have any."""
    found = {}
    for entity in entities:
        host = dict(entity).get(IP)
        if host and literal(host) is None:
            address = await asyncio.to_thread(resolve, host)
            if address is not None:
                found[host] = address
    return found


def _text(value: float | None) -> str | None:
    """The value as text: the store has no NaN."""
    return None if value is None else repr(value)
