"""DescribeClientQuotas, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class EntityData:
    entity_type: str
    entity_name: str | None

class ValueData:
    key: str
    value: float

class EntryData:
    entity: tuple[EntityData, ...]
    values: tuple[ValueData, ...]

class DescribeClientQuotasResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    entries: tuple[EntryData, ...] | None

_EntityData = EntityData
_ValueData = ValueData
_EntryData = EntryData
_DescribeClientQuotasResponse = DescribeClientQuotasResponse

class DescribeClientQuotasBuilders:
    version: int
    def has(self, name: Literal["EntityData", "ValueData", "EntryData", "DescribeClientQuotasResponse"]) -> bool: ...
    def EntityData(
        self,
        *,
        entity_type: str,
        entity_name: str | None,
    ) -> _EntityData: ...
    def ValueData(
        self,
        *,
        key: str,
        value: float,
    ) -> _ValueData: ...
    def EntryData(
        self,
        *,
        entity: Sequence[_EntityData],
        values: Sequence[_ValueData],
    ) -> _EntryData: ...
    def DescribeClientQuotasResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        entries: Sequence[_EntryData] | None,
    ) -> _DescribeClientQuotasResponse: ...
