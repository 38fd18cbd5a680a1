"""OffsetDelete, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class OffsetDeleteResponsePartition:
    partition_index: int
    error_code: ErrorCode

class OffsetDeleteResponseTopic:
    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]

class OffsetDeleteResponse:
    error_code: ErrorCode
    throttle_time: timedelta
    topics: tuple[OffsetDeleteResponseTopic, ...]

_OffsetDeleteResponsePartition = OffsetDeleteResponsePartition
_OffsetDeleteResponseTopic = OffsetDeleteResponseTopic
_OffsetDeleteResponse = OffsetDeleteResponse

class OffsetDeleteBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "OffsetDeleteResponsePartition",
            "OffsetDeleteResponseTopic",
            "OffsetDeleteResponse",
        ],
    ) -> bool: ...
    def OffsetDeleteResponsePartition(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
    ) -> _OffsetDeleteResponsePartition: ...
    def OffsetDeleteResponseTopic(
        self,
        *,
        name: str,
        partitions: Sequence[_OffsetDeleteResponsePartition],
    ) -> _OffsetDeleteResponseTopic: ...
    def OffsetDeleteResponse(
        self,
        *,
        error_code: ErrorCode | int,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_OffsetDeleteResponseTopic],
    ) -> _OffsetDeleteResponse: ...
