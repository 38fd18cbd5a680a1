"""DeleteRecords, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DeleteRecordsPartitionResult:
    partition_index: int
    low_watermark: int
    error_code: ErrorCode

class DeleteRecordsTopicResult:
    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]

class DeleteRecordsResponse:
    throttle_time: timedelta
    topics: tuple[DeleteRecordsTopicResult, ...]

_DeleteRecordsPartitionResult = DeleteRecordsPartitionResult
_DeleteRecordsTopicResult = DeleteRecordsTopicResult
_DeleteRecordsResponse = DeleteRecordsResponse

class DeleteRecordsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "DeleteRecordsPartitionResult",
            "DeleteRecordsTopicResult",
            "DeleteRecordsResponse",
        ],
    ) -> bool: ...
    def DeleteRecordsPartitionResult(
        self,
        *,
        partition_index: int,
        low_watermark: int,
        error_code: ErrorCode | int,
    ) -> _DeleteRecordsPartitionResult: ...
    def DeleteRecordsTopicResult(
        self,
        *,
        name: str,
        partitions: Sequence[_DeleteRecordsPartitionResult],
    ) -> _DeleteRecordsTopicResult: ...
    def DeleteRecordsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_DeleteRecordsTopicResult],
    ) -> _DeleteRecordsResponse: ...
