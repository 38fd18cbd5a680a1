"""AlterClientQuotas, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class EntityData:
    entity_type: str
    entity_name: str | None

class EntryData:
    error_code: ErrorCode
    error_message: str | None
    entity: tuple[EntityData, ...]

class AlterClientQuotasResponse:
    throttle_time: timedelta
    entries: tuple[EntryData, ...]

_EntityData = EntityData
_EntryData = EntryData
_AlterClientQuotasResponse = AlterClientQuotasResponse

class AlterClientQuotasBuilders:
    version: int
    def has(self, name: Literal["EntityData", "EntryData", "AlterClientQuotasResponse"]) -> bool: ...
    def EntityData(
        self,
        *,
        entity_type: str,
        entity_name: str | None,
    ) -> _EntityData: ...
    def EntryData(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        entity: Sequence[_EntityData],
    ) -> _EntryData: ...
    def AlterClientQuotasResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        entries: Sequence[_EntryData],
    ) -> _AlterClientQuotasResponse: ...
