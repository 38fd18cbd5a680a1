"""AddOffsetsToTxn, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AddOffsetsToTxnResponse:
    throttle_time: timedelta
    error_code: ErrorCode

_AddOffsetsToTxnResponse = AddOffsetsToTxnResponse

class AddOffsetsToTxnBuilders:
    version: int
    def has(self, name: Literal["AddOffsetsToTxnResponse"]) -> bool: ...
    def AddOffsetsToTxnResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
    ) -> _AddOffsetsToTxnResponse: ...
