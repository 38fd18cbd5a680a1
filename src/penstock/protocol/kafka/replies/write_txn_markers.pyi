"""WriteTxnMarkers, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import Literal

from kio.schema.errors import ErrorCode

class WritableTxnMarkerPartitionResult:
    partition_index: int
    error_code: ErrorCode

class WritableTxnMarkerTopicResult:
    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...]

class WritableTxnMarkerResult:
    producer_id: int
    topics: tuple[WritableTxnMarkerTopicResult, ...]

class WriteTxnMarkersResponse:
    markers: tuple[WritableTxnMarkerResult, ...]

_WritableTxnMarkerPartitionResult = WritableTxnMarkerPartitionResult
_WritableTxnMarkerTopicResult = WritableTxnMarkerTopicResult
_WritableTxnMarkerResult = WritableTxnMarkerResult
_WriteTxnMarkersResponse = WriteTxnMarkersResponse

class WriteTxnMarkersBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "WritableTxnMarkerPartitionResult",
            "WritableTxnMarkerTopicResult",
            "WritableTxnMarkerResult",
            "WriteTxnMarkersResponse",
        ],
    ) -> bool: ...
    def WritableTxnMarkerPartitionResult(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
    ) -> _WritableTxnMarkerPartitionResult: ...
    def WritableTxnMarkerTopicResult(
        self,
        *,
        name: str,
        partitions: Sequence[_WritableTxnMarkerPartitionResult],
    ) -> _WritableTxnMarkerTopicResult: ...
    def WritableTxnMarkerResult(
        self,
        *,
        producer_id: int,
        topics: Sequence[_WritableTxnMarkerTopicResult],
    ) -> _WritableTxnMarkerResult: ...
    def WriteTxnMarkersResponse(
        self,
        *,
        markers: Sequence[_WritableTxnMarkerResult],
    ) -> _WriteTxnMarkersResponse: ...
