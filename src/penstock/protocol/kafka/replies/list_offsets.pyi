"""ListOffsets, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ListOffsetsPartitionResponse:
    partition_index: int
    error_code: ErrorCode
    timestamp: int
    offset: int
    leader_epoch: int  # v4+

class ListOffsetsTopicResponse:
    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]

class ListOffsetsResponse:
    topics: tuple[ListOffsetsTopicResponse, ...]
    throttle_time: timedelta  # v2+

_ListOffsetsPartitionResponse = ListOffsetsPartitionResponse
_ListOffsetsTopicResponse = ListOffsetsTopicResponse
_ListOffsetsResponse = ListOffsetsResponse

class ListOffsetsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "ListOffsetsPartitionResponse",
            "ListOffsetsTopicResponse",
            "ListOffsetsResponse",
        ],
    ) -> bool: ...
    def ListOffsetsPartitionResponse(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
        timestamp: int = ...,
        offset: int = ...,
        leader_epoch: int = ...,
    ) -> _ListOffsetsPartitionResponse: ...
    def ListOffsetsTopicResponse(
        self,
        *,
        name: str,
        partitions: Sequence[_ListOffsetsPartitionResponse],
    ) -> _ListOffsetsTopicResponse: ...
    def ListOffsetsResponse(
        self,
        *,
        topics: Sequence[_ListOffsetsTopicResponse],
        throttle_time: timedelta | int = ...,
    ) -> _ListOffsetsResponse: ...
