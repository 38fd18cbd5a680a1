"""PushTelemetry, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class PushTelemetryResponse:
    throttle_time: timedelta
    error_code: ErrorCode

_PushTelemetryResponse = PushTelemetryResponse

class PushTelemetryBuilders:
    version: int
    def has(self, name: Literal["PushTelemetryResponse"]) -> bool: ...
    def PushTelemetryResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
    ) -> _PushTelemetryResponse: ...
