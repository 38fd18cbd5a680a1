"""DescribeTopicPartitions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class DescribeTopicPartitionsResponsePartition:
    error_code: ErrorCode
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    offline_replicas: tuple[int, ...]

class DescribeTopicPartitionsResponseTopic:
    error_code: ErrorCode
    name: str | None
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...]
    topic_authorized_operations: int

class Cursor:
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsResponse:
    throttle_time: timedelta
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...]
    next_cursor: Cursor | None

_DescribeTopicPartitionsResponsePartition = DescribeTopicPartitionsResponsePartition
_DescribeTopicPartitionsResponseTopic = DescribeTopicPartitionsResponseTopic
_Cursor = Cursor
_DescribeTopicPartitionsResponse = DescribeTopicPartitionsResponse

class DescribeTopicPartitionsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "DescribeTopicPartitionsResponsePartition",
            "DescribeTopicPartitionsResponseTopic",
            "Cursor",
            "DescribeTopicPartitionsResponse",
        ],
    ) -> bool: ...
    def DescribeTopicPartitionsResponsePartition(
        self,
        *,
        error_code: ErrorCode | int,
        partition_index: int,
        leader_id: int,
        leader_epoch: int = ...,
        replica_nodes: Sequence[int] = ...,
        isr_nodes: Sequence[int] = ...,
        eligible_leader_replicas: Sequence[int] | None = ...,
        last_known_elr: Sequence[int] | None = ...,
        offline_replicas: Sequence[int] = ...,
    ) -> _DescribeTopicPartitionsResponsePartition: ...
    def DescribeTopicPartitionsResponseTopic(
        self,
        *,
        error_code: ErrorCode | int,
        name: str | None,
        topic_id: UUID | None,
        is_internal: bool = ...,
        partitions: Sequence[_DescribeTopicPartitionsResponsePartition],
        topic_authorized_operations: int = ...,
    ) -> _DescribeTopicPartitionsResponseTopic: ...
    def Cursor(
        self,
        *,
        topic_name: str,
        partition_index: int,
    ) -> _Cursor: ...
    def DescribeTopicPartitionsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_DescribeTopicPartitionsResponseTopic],
        next_cursor: _Cursor | None = ...,
    ) -> _DescribeTopicPartitionsResponse: ...
