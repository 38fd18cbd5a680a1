"""AddPartitionsToTxn, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AddPartitionsToTxnPartitionResult:
    partition_index: int
    partition_error_code: ErrorCode

class AddPartitionsToTxnTopicResult:
    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...]

class AddPartitionsToTxnResponse:
    throttle_time: timedelta
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...]  # v0 to v3
    error_code: ErrorCode  # v4+
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...]  # v4+

class AddPartitionsToTxnResult:
    transactional_id: str
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...]

_AddPartitionsToTxnPartitionResult = AddPartitionsToTxnPartitionResult
_AddPartitionsToTxnTopicResult = AddPartitionsToTxnTopicResult
_AddPartitionsToTxnResponse = AddPartitionsToTxnResponse
_AddPartitionsToTxnResult = AddPartitionsToTxnResult

class AddPartitionsToTxnBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "AddPartitionsToTxnPartitionResult",
            "AddPartitionsToTxnTopicResult",
            "AddPartitionsToTxnResponse",
            "AddPartitionsToTxnResult",
        ],
    ) -> bool: ...
    def AddPartitionsToTxnPartitionResult(
        self,
        *,
        partition_index: int,
        partition_error_code: ErrorCode | int,
    ) -> _AddPartitionsToTxnPartitionResult: ...
    def AddPartitionsToTxnTopicResult(
        self,
        *,
        name: str,
        results_by_partition: Sequence[_AddPartitionsToTxnPartitionResult],
    ) -> _AddPartitionsToTxnTopicResult: ...
    def AddPartitionsToTxnResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results_by_topic_v3_and_below: Sequence[_AddPartitionsToTxnTopicResult] = ...,
        error_code: ErrorCode | int = ...,
        results_by_transaction: Sequence[_AddPartitionsToTxnResult] = ...,
    ) -> _AddPartitionsToTxnResponse: ...
    def AddPartitionsToTxnResult(
        self,
        *,
        transactional_id: str,
        topic_results: Sequence[_AddPartitionsToTxnTopicResult],
    ) -> _AddPartitionsToTxnResult: ...
