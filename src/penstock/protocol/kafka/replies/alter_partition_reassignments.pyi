"""AlterPartitionReassignments, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ReassignablePartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None

class ReassignableTopicResponse:
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]

class AlterPartitionReassignmentsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    responses: tuple[ReassignableTopicResponse, ...]
    allow_replication_factor_change: bool  # v1+

_ReassignablePartitionResponse = ReassignablePartitionResponse
_ReassignableTopicResponse = ReassignableTopicResponse
_AlterPartitionReassignmentsResponse = AlterPartitionReassignmentsResponse

class AlterPartitionReassignmentsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "ReassignablePartitionResponse",
            "ReassignableTopicResponse",
            "AlterPartitionReassignmentsResponse",
        ],
    ) -> bool: ...
    def ReassignablePartitionResponse(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _ReassignablePartitionResponse: ...
    def ReassignableTopicResponse(
        self,
        *,
        name: str,
        partitions: Sequence[_ReassignablePartitionResponse],
    ) -> _ReassignableTopicResponse: ...
    def AlterPartitionReassignmentsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        responses: Sequence[_ReassignableTopicResponse],
        allow_replication_factor_change: bool = ...,
    ) -> _AlterPartitionReassignmentsResponse: ...
