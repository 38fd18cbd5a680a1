"""InitProducerId, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class InitProducerIdResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int  # v6+
    ongoing_txn_producer_epoch: int  # v6+

_InitProducerIdResponse = InitProducerIdResponse

class InitProducerIdBuilders:
    version: int
    def has(self, name: Literal["InitProducerIdResponse"]) -> bool: ...
    def InitProducerIdResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        producer_id: int = ...,
        producer_epoch: int,
        ongoing_txn_producer_id: int = ...,
        ongoing_txn_producer_epoch: int = ...,
    ) -> _InitProducerIdResponse: ...
