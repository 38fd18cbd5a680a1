"""DescribeProducers, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ProducerState:
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int

class PartitionResponse:
    partition_index: int
    error_code: ErrorCode
    error_message: str | None
    active_producers: tuple[ProducerState, ...]

class TopicResponse:
    name: str
    partitions: tuple[PartitionResponse, ...]

class DescribeProducersResponse:
    throttle_time: timedelta
    topics: tuple[TopicResponse, ...]

_ProducerState = ProducerState
_PartitionResponse = PartitionResponse
_TopicResponse = TopicResponse
_DescribeProducersResponse = DescribeProducersResponse

class DescribeProducersBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "ProducerState",
            "PartitionResponse",
            "TopicResponse",
            "DescribeProducersResponse",
        ],
    ) -> bool: ...
    def ProducerState(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        last_sequence: int = ...,
        last_timestamp: int = ...,
        coordinator_epoch: int,
        current_txn_start_offset: int = ...,
    ) -> _ProducerState: ...
    def PartitionResponse(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
        error_message: str | None = ...,
        active_producers: Sequence[_ProducerState],
    ) -> _PartitionResponse: ...
    def TopicResponse(
        self,
        *,
        name: str,
        partitions: Sequence[_PartitionResponse],
    ) -> _TopicResponse: ...
    def DescribeProducersResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_TopicResponse],
    ) -> _DescribeProducersResponse: ...
