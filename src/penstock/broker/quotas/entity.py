"""Entities of quotas, and the kinds of quotas.

An entity has one or several names by type: a user, a client id, both, or an IP address. A name of None is the default
for all that have no quota of their own. Entities are tuples of (type, name) in Kafka's order, so that two with the same
meaning are equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from penstock.model.errors import ErrorCode, KafkaError

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
TYPES: Final = (CLIENT_ID, USER, IP)

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

Entity = tuple[tuple[str, str | None], ...]


class Kind(Enum):
    """Types of a quota's value."""

    LONG = "a LONG"
    INT = "an INT"
    DOUBLE = ""


_CLIENT_KEYS: Final = {
    PRODUCER_BYTE_RATE: Kind.LONG,
    CONSUMER_BYTE_RATE: Kind.LONG,
    CONTROLLER_MUTATION_RATE: Kind.DOUBLE,
    REQUEST_PERCENTAGE: Kind.DOUBLE,
}
_IP_KEYS: Final = {CONNECTION_CREATION_RATE: Kind.INT}
KEYS: Final = (*_CLIENT_KEYS, *_IP_KEYS)
"""All of them, in the order in which they are described."""

_LARGEST: Final = {Kind.LONG: float(2**63 - 1), Kind.INT: float(2**31 - 1)}
_EPSILON: Final = 1e-6


def make_entity(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """The entity of (type, name) pairs in Kafka's order; of a repeated type the last one counts, as in Kafka."""
    names = dict(parts)
    known = [(kind, names.pop(kind)) for kind in TYPES if kind in names]
    return (*known, *names.items())


def entity_text(entity: Entity) -> str:
    """The entity as text for the metadata store."""
    return json.dumps(entity, ensure_ascii=False)


def entity_of_text(text: str) -> Entity:
    return make_entity((kind, name) for kind, name in json.loads(text))


def shown(entity: Entity) -> str:
    """The entity as Kafka writes it in its messages."""
    inside = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{inside}}})"


def keys_of(entity: Entity) -> Mapping[str, Kind]:
    """The quotas that such an entity can have. KafkaError if no such entity can exist."""
    names = dict(entity)
    if not names:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP not in names:
        return _CLIENT_KEYS
    if len(names) > 1:
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    return _IP_KEYS


def check_value(keys: Mapping[str, Kind], key: str, value: float) -> None:
    kind = keys.get(key)
    if kind is None:
        raise _invalid(f"Invalid configuration key {key}")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if kind is Kind.DOUBLE or value != value:  # not a number: no limit, which Kafka accepts
        return
    if value > _LARGEST[kind]:
        raise _invalid(f"Proposed value for {key} is too large for {kind.value}.")
    if abs(int(value + _EPSILON) - value) > _EPSILON:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
