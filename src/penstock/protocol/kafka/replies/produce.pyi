"""Produce, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class BatchIndexAndErrorMessage:
    batch_index: int
    batch_index_error_message: str | None

class LeaderIdAndEpoch:
    leader_id: int
    leader_epoch: int

class PartitionProduceResponse:
    index: int
    error_code: ErrorCode
    base_offset: int
    log_append_time: datetime | None
    log_start_offset: int  # v5+
    record_errors: tuple[BatchIndexAndErrorMessage, ...]  # v8+
    error_message: str | None  # v8+
    current_leader: LeaderIdAndEpoch  # v10+

class TopicProduceResponse:
    name: str  # v3 to v12
    partition_responses: tuple[PartitionProduceResponse, ...]
    topic_id: UUID | None  # v13+

class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None

class ProduceResponse:
    responses: tuple[TopicProduceResponse, ...]
    throttle_time: timedelta
    node_endpoints: tuple[NodeEndpoint, ...]  # v10+

_BatchIndexAndErrorMessage = BatchIndexAndErrorMessage
_LeaderIdAndEpoch = LeaderIdAndEpoch
_PartitionProduceResponse = PartitionProduceResponse
_TopicProduceResponse = TopicProduceResponse
_NodeEndpoint = NodeEndpoint
_ProduceResponse = ProduceResponse

class ProduceBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "BatchIndexAndErrorMessage",
            "LeaderIdAndEpoch",
            "PartitionProduceResponse",
            "TopicProduceResponse",
            "NodeEndpoint",
            "ProduceResponse",
        ],
    ) -> bool: ...
    def BatchIndexAndErrorMessage(
        self,
        *,
        batch_index: int,
        batch_index_error_message: str | None = ...,
    ) -> _BatchIndexAndErrorMessage: ...
    def LeaderIdAndEpoch(
        self,
        *,
        leader_id: int = ...,
        leader_epoch: int = ...,
    ) -> _LeaderIdAndEpoch: ...
    def PartitionProduceResponse(
        self,
        *,
        index: int,
        error_code: ErrorCode | int,
        base_offset: int,
        log_append_time: datetime | int | None = ...,
        log_start_offset: int = ...,
        record_errors: Sequence[_BatchIndexAndErrorMessage] = ...,
        error_message: str | None = ...,
        current_leader: _LeaderIdAndEpoch = ...,
    ) -> _PartitionProduceResponse: ...
    def TopicProduceResponse(
        self,
        *,
        name: str = ...,
        partition_responses: Sequence[_PartitionProduceResponse],
        topic_id: UUID | None = ...,
    ) -> _TopicProduceResponse: ...
    def NodeEndpoint(
        self,
        *,
        node_id: int,
        host: str,
        port: int,
        rack: str | None = ...,
    ) -> _NodeEndpoint: ...
    def ProduceResponse(
        self,
        *,
        responses: Sequence[_TopicProduceResponse],
        throttle_time: timedelta | int = ...,
        node_endpoints: Sequence[_NodeEndpoint] = ...,
    ) -> _ProduceResponse: ...
