"""Fetch, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class AbortedTransaction:
    producer_id: int
    first_offset: int

class PartitionData:
    partition_index: int
    error_code: ErrorCode
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int  # v5+
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    records: bytes | None
    preferred_read_replica: int  # v11+
    diverging_epoch: EpochEndOffset  # v12+
    current_leader: LeaderIdAndEpoch  # v12+
    snapshot_id: SnapshotId  # v12+

class FetchableTopicResponse:
    topic: str  # v4 to v12
    partitions: tuple[PartitionData, ...]
    topic_id: UUID | None  # v13+

class FetchResponse:
    throttle_time: timedelta
    error_code: ErrorCode  # v7+
    session_id: int  # v7+
    responses: tuple[FetchableTopicResponse, ...]
    node_endpoints: tuple[NodeEndpoint, ...]  # v16+

class EpochEndOffset:
    epoch: int
    end_offset: int

class LeaderIdAndEpoch:
    leader_id: int
    leader_epoch: int

class SnapshotId:
    end_offset: int
    epoch: int

class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None

_AbortedTransaction = AbortedTransaction
_PartitionData = PartitionData
_FetchableTopicResponse = FetchableTopicResponse
_FetchResponse = FetchResponse
_EpochEndOffset = EpochEndOffset
_LeaderIdAndEpoch = LeaderIdAndEpoch
_SnapshotId = SnapshotId
_NodeEndpoint = NodeEndpoint

class FetchBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "AbortedTransaction",
            "PartitionData",
            "FetchableTopicResponse",
            "FetchResponse",
            "EpochEndOffset",
            "LeaderIdAndEpoch",
            "SnapshotId",
            "NodeEndpoint",
        ],
    ) -> bool: ...
    def AbortedTransaction(
        self,
        *,
        producer_id: int,
        first_offset: int,
    ) -> _AbortedTransaction: ...
    def PartitionData(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
        high_watermark: int,
        last_stable_offset: int = ...,
        log_start_offset: int = ...,
        aborted_transactions: Sequence[_AbortedTransaction] | None,
        records: bytes | None,
        preferred_read_replica: int = ...,
        diverging_epoch: _EpochEndOffset = ...,
        current_leader: _LeaderIdAndEpoch = ...,
        snapshot_id: _SnapshotId = ...,
    ) -> _PartitionData: ...
    def FetchableTopicResponse(
        self,
        *,
        topic: str = ...,
        partitions: Sequence[_PartitionData],
        topic_id: UUID | None = ...,
    ) -> _FetchableTopicResponse: ...
    def FetchResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int = ...,
        session_id: int = ...,
        responses: Sequence[_FetchableTopicResponse],
        node_endpoints: Sequence[_NodeEndpoint] = ...,
    ) -> _FetchResponse: ...
    def EpochEndOffset(
        self,
        *,
        epoch: int = ...,
        end_offset: int = ...,
    ) -> _EpochEndOffset: ...
    def LeaderIdAndEpoch(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
    ) -> _LeaderIdAndEpoch: ...
    def SnapshotId(
        self,
        *,
        end_offset: int = ...,
        epoch: int = ...,
    ) -> _SnapshotId: ...
    def NodeEndpoint(
        self,
        *,
        node_id: int,
        host: str,
        port: int,
        rack: str | None = ...,
    ) -> _NodeEndpoint: ...
