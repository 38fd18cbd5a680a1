"""OffsetFetch, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class OffsetFetchResponsePartition:
    partition_index: int
    committed_offset: int
    metadata: str | None
    error_code: ErrorCode
    committed_leader_epoch: int  # v5+

class OffsetFetchResponseTopic:
    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]

class OffsetFetchResponse:
    topics: tuple[OffsetFetchResponseTopic, ...]  # v1 to v7
    throttle_time: timedelta  # v3+
    groups: tuple[OffsetFetchResponseGroup, ...]  # v8+
    error_code: ErrorCode  # v2 to v7

class OffsetFetchResponsePartitions:
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: ErrorCode

class OffsetFetchResponseTopics:
    topic_id: UUID | None  # v10+
    partitions: tuple[OffsetFetchResponsePartitions, ...]
    name: str  # v8 to v9

class OffsetFetchResponseGroup:
    group_id: str
    topics: tuple[OffsetFetchResponseTopics, ...]
    error_code: ErrorCode

_OffsetFetchResponsePartition = OffsetFetchResponsePartition
_OffsetFetchResponseTopic = OffsetFetchResponseTopic
_OffsetFetchResponse = OffsetFetchResponse
_OffsetFetchResponsePartitions = OffsetFetchResponsePartitions
_OffsetFetchResponseTopics = OffsetFetchResponseTopics
_OffsetFetchResponseGroup = OffsetFetchResponseGroup

class OffsetFetchBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "OffsetFetchResponsePartition",
            "OffsetFetchResponseTopic",
            "OffsetFetchResponse",
            "OffsetFetchResponsePartitions",
            "OffsetFetchResponseTopics",
            "OffsetFetchResponseGroup",
        ],
    ) -> bool: ...
    def OffsetFetchResponsePartition(
        self,
        *,
        partition_index: int,
        committed_offset: int,
        metadata: str | None,
        error_code: ErrorCode | int,
        committed_leader_epoch: int = ...,
    ) -> _OffsetFetchResponsePartition: ...
    def OffsetFetchResponseTopic(
        self,
        *,
        name: str,
        partitions: Sequence[_OffsetFetchResponsePartition],
    ) -> _OffsetFetchResponseTopic: ...
    def OffsetFetchResponse(
        self,
        *,
        topics: Sequence[_OffsetFetchResponseTopic] = ...,
        throttle_time: timedelta | int = ...,
        groups: Sequence[_OffsetFetchResponseGroup] = ...,
        error_code: ErrorCode | int = ...,
    ) -> _OffsetFetchResponse: ...
    def OffsetFetchResponsePartitions(
        self,
        *,
        partition_index: int,
        committed_offset: int,
        committed_leader_epoch: int = ...,
        metadata: str | None,
        error_code: ErrorCode | int,
    ) -> _OffsetFetchResponsePartitions: ...
    def OffsetFetchResponseTopics(
        self,
        *,
        topic_id: UUID | None = ...,
        partitions: Sequence[_OffsetFetchResponsePartitions],
        name: str = ...,
    ) -> _OffsetFetchResponseTopics: ...
    def OffsetFetchResponseGroup(
        self,
        *,
        group_id: str,
        topics: Sequence[_OffsetFetchResponseTopics],
        error_code: ErrorCode | int = ...,
    ) -> _OffsetFetchResponseGroup: ...
