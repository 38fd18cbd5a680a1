"""Heartbeat, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class HeartbeatResponse:
    error_code: ErrorCode
    throttle_time: timedelta  # v1+

_HeartbeatResponse = HeartbeatResponse

class HeartbeatBuilders:
    version: int
    def has(self, name: Literal["HeartbeatResponse"]) -> bool: ...
    def HeartbeatResponse(
        self,
        *,
        error_code: ErrorCode | int,
        throttle_time: timedelta | int = ...,
    ) -> _HeartbeatResponse: ...
