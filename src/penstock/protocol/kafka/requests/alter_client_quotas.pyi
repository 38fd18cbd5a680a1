"""AlterClientQuotas, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class EntityData:
    entity_type: str
    entity_name: str | None

class OpData:
    key: str
    value: float
    remove: bool

class EntryData:
    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]

class AlterClientQuotasRequest:
    entries: tuple[EntryData, ...]
    validate_only: bool

class EntityDataValues(TypedDict, total=False):
    entity_type: str
    entity_name: str | None

class OpDataValues(TypedDict, total=False):
    key: str
    value: float
    remove: bool

class EntryDataValues(TypedDict, total=False):
    entity: Sequence[EntityDataValues]
    ops: Sequence[OpDataValues]

class AlterClientQuotasRequestValues(TypedDict, total=False):
    entries: Sequence[EntryDataValues]
    validate_only: bool
