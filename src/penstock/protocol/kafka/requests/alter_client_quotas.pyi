"""AlterClientQuotas, requests. Made by `python -m tools.wire_types`; do not edit."""

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
