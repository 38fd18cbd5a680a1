"""The quotas that are set, by entity, with their changes and queries.

Requests are not throttled here: `penstock.broker.quotas.quotas` makes the book's changes durable and enforces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.broker.quotas.entity import CLIENT_ID, IP, KEYS, TYPES, USER, Entity, check_value, keys_of, shown
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import QUOTA_ENTITIES_MAX

EXACT, DEFAULT, ANY = range(3)
"""Match types of a filter component."""


class Change(NamedTuple):
    """One quota of an entity; a value of None removes it."""

    entity: Entity
    key: str
    value: float | None


class Alteration(NamedTuple):
    """The changes of one request for one entity."""

    entity: Entity
    ops: Sequence[tuple[str, float | None]]


class Component(NamedTuple):
    """A component of a filter: the names of a type that it matches."""

    kind: str
    match_type: int
    name: str | None


class QuotaTable:
    """Every quota of the node."""

    def __init__(self) -> None:
        self._entries: dict[Entity, dict[str, float]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entity]:
        return iter(tuple(self._entries))

    def values(self, entity: Entity) -> list[tuple[str, float]]:
        """Quotas in the order in which they are described."""
        values = self._entries.get(entity, {})
        return [(key, values[key]) for key in KEYS if key in values]

    def apply(self, changes: Iterable[Change]) -> None:
        for entity, key, value in changes:
            values = self._entries.setdefault(entity, {})
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
            if not values:
                del self._entries[entity]

    # --- changing ----------------------------------------------------------------------------------------------------

    def plan(
        self, alterations: Iterable[Alteration], is_host: Callable[[str], bool]
    ) -> tuple[dict[Entity, KafkaError | None], list[Change]]:
        """The result for each entity, and the changes of the valid ones."""
        results: dict[Entity, KafkaError | None] = {}
        changes: list[Change] = []
        added: set[Entity] = set()
        for entity, ops in alterations:
            if entity in results or len({key for key, _ in ops}) < len(ops):
                # Kafka has one message for both cases. The first of two alterations has been accepted by then.
                message = f"Ignoring duplicate entity {shown(entity)}"
                results[entity] = KafkaError(ErrorCode.INVALID_REQUEST, message)
                continue
            try:
                _check_host(entity, is_host)
                changes += self._checked(entity, ops, added)
                results[entity] = None
            except KafkaError as error:
                results[entity] = error.kept()
        return results, changes

    def _checked(self, entity: Entity, ops: Sequence[tuple[str, float | None]], added: set[Entity]) -> list[Change]:
        keys = keys_of(entity)
        for key, value in ops:
            if value is not None:
                check_value(keys, key, value)
        current = self._entries.get(entity)
        if current is None and any(value is not None for _, value in ops):
            added.add(entity)
            if len(self._entries) + len(added) > QUOTA_ENTITIES_MAX:
                added.discard(entity)
                raise KafkaError(ErrorCode.POLICY_VIOLATION, f"More than {QUOTA_ENTITIES_MAX} entities with quotas.")
        return [Change(entity, key, value) for key, value in ops if value != (current or {}).get(key)]

    # --- queries -----------------------------------------------------------------------------------------------------

    def matching(self, components: Sequence[Component], *, strict: bool) -> Iterator[Entity]:
        """Entities that match every component, in a strict filter without other types. KafkaError if malformed."""
        check_filter(components)
        return self._matching(components, strict)

    def _matching(self, components: Sequence[Component], strict: bool) -> Iterator[Entity]:
        for entity in self:
            names = dict(entity)
            if strict and len(names) != len(components):
                continue
            if all(_fits(component, names) for component in components):
                yield entity


def _fits(component: Component, names: Mapping[str, str | None]) -> bool:
    if component.kind not in names:
        return False
    return component.match_type == ANY or names[component.kind] == component.name


def _check_host(entity: Entity, is_host: Callable[[str], bool]) -> None:
    keys_of(entity)  # other problems of the entity are reported first
    name = dict(entity).get(IP)
    if name is not None and not is_host(name):
        raise _invalid(f"{name} is not a valid IP or resolvable host.")


def check_filter(components: Sequence[Component]) -> None:
    seen: set[str] = set()
    for component in components:
        _check_component(component, seen)
        seen.add(component.kind)
    if IP in seen and (USER in seen or CLIENT_ID in seen):
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or"
            " clientId filter component."
        )


def _check_component(component: Component, seen: set[str]) -> None:
    kind, match_type, name = component
    if not kind:
        raise _invalid("Invalid empty entity type.")
    if kind in seen:
        raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
    if kind not in TYPES:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    if match_type not in (EXACT, DEFAULT, ANY):
        raise _invalid(f"Unknown match type {match_type}")
    if match_type == EXACT and name is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match_type != EXACT and name is not None:
        called = "DEFAULT" if match_type == DEFAULT else "SPECIFIED"
        raise _invalid(f"Request specified MATCH_TYPE_{called}, but also specified a match string.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
