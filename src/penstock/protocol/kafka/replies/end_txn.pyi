"""EndTxn, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class EndTxnResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    producer_id: int  # v5+
    producer_epoch: int  # v5+

_EndTxnResponse = EndTxnResponse

class EndTxnBuilders:
    version: int
    def has(self, name: Literal["EndTxnResponse"]) -> bool: ...
    def EndTxnResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        producer_id: int = ...,
        producer_epoch: int = ...,
    ) -> _EndTxnResponse: ...
