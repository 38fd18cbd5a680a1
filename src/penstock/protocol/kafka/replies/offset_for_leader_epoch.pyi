"""OffsetForLeaderEpoch, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class EpochEndOffset:
    error_code: ErrorCode
    partition: int
    leader_epoch: int
    end_offset: int

class OffsetForLeaderTopicResult:
    topic: str
    partitions: tuple[EpochEndOffset, ...]

class OffsetForLeaderEpochResponse:
    throttle_time: timedelta
    topics: tuple[OffsetForLeaderTopicResult, ...]

_EpochEndOffset = EpochEndOffset
_OffsetForLeaderTopicResult = OffsetForLeaderTopicResult
_OffsetForLeaderEpochResponse = OffsetForLeaderEpochResponse

class OffsetForLeaderEpochBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "EpochEndOffset",
            "OffsetForLeaderTopicResult",
            "OffsetForLeaderEpochResponse",
        ],
    ) -> bool: ...
    def EpochEndOffset(
        self,
        *,
        error_code: ErrorCode | int,
        partition: int,
        leader_epoch: int = ...,
        end_offset: int = ...,
    ) -> _EpochEndOffset: ...
    def OffsetForLeaderTopicResult(
        self,
        *,
        topic: str,
        partitions: Sequence[_EpochEndOffset],
    ) -> _OffsetForLeaderTopicResult: ...
    def OffsetForLeaderEpochResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_OffsetForLeaderTopicResult],
    ) -> _OffsetForLeaderEpochResponse: ...
