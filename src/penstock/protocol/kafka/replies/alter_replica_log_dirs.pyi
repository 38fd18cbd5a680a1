"""AlterReplicaLogDirs, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AlterReplicaLogDirPartitionResult:
    partition_index: int
    error_code: ErrorCode

class AlterReplicaLogDirTopicResult:
    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]

class AlterReplicaLogDirsResponse:
    throttle_time: timedelta
    results: tuple[AlterReplicaLogDirTopicResult, ...]

_AlterReplicaLogDirPartitionResult = AlterReplicaLogDirPartitionResult
_AlterReplicaLogDirTopicResult = AlterReplicaLogDirTopicResult
_AlterReplicaLogDirsResponse = AlterReplicaLogDirsResponse

class AlterReplicaLogDirsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "AlterReplicaLogDirPartitionResult",
            "AlterReplicaLogDirTopicResult",
            "AlterReplicaLogDirsResponse",
        ],
    ) -> bool: ...
    def AlterReplicaLogDirPartitionResult(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
    ) -> _AlterReplicaLogDirPartitionResult: ...
    def AlterReplicaLogDirTopicResult(
        self,
        *,
        topic_name: str,
        partitions: Sequence[_AlterReplicaLogDirPartitionResult],
    ) -> _AlterReplicaLogDirTopicResult: ...
    def AlterReplicaLogDirsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_AlterReplicaLogDirTopicResult],
    ) -> _AlterReplicaLogDirsResponse: ...
