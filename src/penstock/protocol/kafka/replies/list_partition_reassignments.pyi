"""ListPartitionReassignments, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class OngoingPartitionReassignment:
    partition_index: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]

class OngoingTopicReassignment:
    name: str
    partitions: tuple[OngoingPartitionReassignment, ...]

class ListPartitionReassignmentsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    topics: tuple[OngoingTopicReassignment, ...]

_OngoingPartitionReassignment = OngoingPartitionReassignment
_OngoingTopicReassignment = OngoingTopicReassignment
_ListPartitionReassignmentsResponse = ListPartitionReassignmentsResponse

class ListPartitionReassignmentsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "OngoingPartitionReassignment",
            "OngoingTopicReassignment",
            "ListPartitionReassignmentsResponse",
        ],
    ) -> bool: ...
    def OngoingPartitionReassignment(
        self,
        *,
        partition_index: int,
        replicas: Sequence[int] = ...,
        adding_replicas: Sequence[int] = ...,
        removing_replicas: Sequence[int] = ...,
    ) -> _OngoingPartitionReassignment: ...
    def OngoingTopicReassignment(
        self,
        *,
        name: str,
        partitions: Sequence[_OngoingPartitionReassignment],
    ) -> _OngoingTopicReassignment: ...
    def ListPartitionReassignmentsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        topics: Sequence[_OngoingTopicReassignment],
    ) -> _ListPartitionReassignmentsResponse: ...
