"""DescribeLogDirs, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DescribeLogDirsPartition:
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

class DescribeLogDirsTopic:
    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]

class DescribeLogDirsResult:
    error_code: ErrorCode
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...]
    total_bytes: int  # v4+
    usable_bytes: int  # v4+
    is_cordoned: bool  # v5+

class DescribeLogDirsResponse:
    throttle_time: timedelta
    results: tuple[DescribeLogDirsResult, ...]
    error_code: ErrorCode  # v3+

_DescribeLogDirsPartition = DescribeLogDirsPartition
_DescribeLogDirsTopic = DescribeLogDirsTopic
_DescribeLogDirsResult = DescribeLogDirsResult
_DescribeLogDirsResponse = DescribeLogDirsResponse

class DescribeLogDirsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "DescribeLogDirsPartition",
            "DescribeLogDirsTopic",
            "DescribeLogDirsResult",
            "DescribeLogDirsResponse",
        ],
    ) -> bool: ...
    def DescribeLogDirsPartition(
        self,
        *,
        partition_index: int,
        partition_size: int,
        offset_lag: int,
        is_future_key: bool,
    ) -> _DescribeLogDirsPartition: ...
    def DescribeLogDirsTopic(
        self,
        *,
        name: str,
        partitions: Sequence[_DescribeLogDirsPartition],
    ) -> _DescribeLogDirsTopic: ...
    def DescribeLogDirsResult(
        self,
        *,
        error_code: ErrorCode | int,
        log_dir: str,
        topics: Sequence[_DescribeLogDirsTopic],
        total_bytes: int = ...,
        usable_bytes: int = ...,
        is_cordoned: bool = ...,
    ) -> _DescribeLogDirsResult: ...
    def DescribeLogDirsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_DescribeLogDirsResult],
        error_code: ErrorCode | int = ...,
    ) -> _DescribeLogDirsResponse: ...
