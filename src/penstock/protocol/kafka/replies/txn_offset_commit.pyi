"""TxnOffsetCommit, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class TxnOffsetCommitResponsePartition:
    partition_index: int
    error_code: ErrorCode

class TxnOffsetCommitResponseTopic:
    name: str
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]

class TxnOffsetCommitResponse:
    throttle_time: timedelta
    topics: tuple[TxnOffsetCommitResponseTopic, ...]

_TxnOffsetCommitResponsePartition = TxnOffsetCommitResponsePartition
_TxnOffsetCommitResponseTopic = TxnOffsetCommitResponseTopic
_TxnOffsetCommitResponse = TxnOffsetCommitResponse

class TxnOffsetCommitBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "TxnOffsetCommitResponsePartition",
            "TxnOffsetCommitResponseTopic",
            "TxnOffsetCommitResponse",
        ],
    ) -> bool: ...
    def TxnOffsetCommitResponsePartition(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
    ) -> _TxnOffsetCommitResponsePartition: ...
    def TxnOffsetCommitResponseTopic(
        self,
        *,
        name: str,
        partitions: Sequence[_TxnOffsetCommitResponsePartition],
    ) -> _TxnOffsetCommitResponseTopic: ...
    def TxnOffsetCommitResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_TxnOffsetCommitResponseTopic],
    ) -> _TxnOffsetCommitResponse: ...
