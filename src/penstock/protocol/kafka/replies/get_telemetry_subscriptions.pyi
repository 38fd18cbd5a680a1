"""GetTelemetrySubscriptions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class GetTelemetrySubscriptionsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    client_instance_id: UUID | None
    subscription_id: int
    accepted_compression_types: tuple[int, ...]
    push_interval: timedelta
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: tuple[str, ...]

_GetTelemetrySubscriptionsResponse = GetTelemetrySubscriptionsResponse

class GetTelemetrySubscriptionsBuilders:
    version: int
    def has(self, name: Literal["GetTelemetrySubscriptionsResponse"]) -> bool: ...
    def GetTelemetrySubscriptionsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        client_instance_id: UUID | None,
        subscription_id: int,
        accepted_compression_types: Sequence[int] = ...,
        push_interval: timedelta | int,
        telemetry_max_bytes: int,
        delta_temporality: bool,
        requested_metrics: Sequence[str] = ...,
    ) -> _GetTelemetrySubscriptionsResponse: ...
