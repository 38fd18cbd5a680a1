"""SyncGroup, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class SyncGroupResponse:
    error_code: ErrorCode
    assignment: bytes
    throttle_time: timedelta  # v1+
    protocol_type: str | None  # v5+
    protocol_name: str | None  # v5+

_SyncGroupResponse = SyncGroupResponse

class SyncGroupBuilders:
    version: int
    def has(self, name: Literal["SyncGroupResponse"]) -> bool: ...
    def SyncGroupResponse(
        self,
        *,
        error_code: ErrorCode | int,
        assignment: bytes,
        throttle_time: timedelta | int = ...,
        protocol_type: str | None = ...,
        protocol_name: str | None = ...,
    ) -> _SyncGroupResponse: ...
