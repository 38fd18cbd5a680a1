"""OffsetCommit, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class OffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode

class OffsetCommitResponseTopic:
    topic_id: UUID | None  # v10+
    partitions: tuple[OffsetCommitResponsePartition, ...]
    name: str  # v2 to v9

class OffsetCommitResponse:
    throttle_time: timedelta  # v3+
    topics: tuple[OffsetCommitResponseTopic, ...]

_OffsetCommitResponsePartition = OffsetCommitResponsePartition
_OffsetCommitResponseTopic = OffsetCommitResponseTopic
_OffsetCommitResponse = OffsetCommitResponse

class OffsetCommitBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "OffsetCommitResponsePartition",
            "OffsetCommitResponseTopic",
            "OffsetCommitResponse",
        ],
    ) -> bool: ...
    def OffsetCommitResponsePartition(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
    ) -> _OffsetCommitResponsePartition: ...
    def OffsetCommitResponseTopic(
        self,
        *,
        topic_id: UUID | None = ...,
        partitions: Sequence[_OffsetCommitResponsePartition],
        name: str = ...,
    ) -> _OffsetCommitResponseTopic: ...
    def OffsetCommitResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_OffsetCommitResponseTopic],
    ) -> _OffsetCommitResponse: ...
