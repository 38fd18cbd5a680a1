"""DescribeQuorum, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class ReplicaState:
    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int  # v1+
    last_caught_up_timestamp: int  # v1+
    replica_directory_id: UUID | None  # v2+

class PartitionData:
    partition_index: int
    error_code: ErrorCode
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]
    error_message: str | None  # v2+

class TopicData:
    topic_name: str
    partitions: tuple[PartitionData, ...]

class DescribeQuorumResponse:
    error_code: ErrorCode
    topics: tuple[TopicData, ...]
    error_message: str | None  # v2+
    nodes: tuple[Node, ...]  # v2+

class Listener:
    name: str
    host: str
    port: int

class Node:
    node_id: int
    listeners: tuple[Listener, ...]

_ReplicaState = ReplicaState
_PartitionData = PartitionData
_TopicData = TopicData
_DescribeQuorumResponse = DescribeQuorumResponse
_Listener = Listener
_Node = Node

class DescribeQuorumBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "ReplicaState",
            "PartitionData",
            "TopicData",
            "DescribeQuorumResponse",
            "Listener",
            "Node",
        ],
    ) -> bool: ...
    def ReplicaState(
        self,
        *,
        replica_id: int,
        log_end_offset: int,
        last_fetch_timestamp: int = ...,
        last_caught_up_timestamp: int = ...,
        replica_directory_id: UUID | None = ...,
    ) -> _ReplicaState: ...
    def PartitionData(
        self,
        *,
        partition_index: int,
        error_code: ErrorCode | int,
        leader_id: int,
        leader_epoch: int,
        high_watermark: int,
        current_voters: Sequence[_ReplicaState],
        observers: Sequence[_ReplicaState],
        error_message: str | None = ...,
    ) -> _PartitionData: ...
    def TopicData(
        self,
        *,
        topic_name: str,
        partitions: Sequence[_PartitionData],
    ) -> _TopicData: ...
    def DescribeQuorumResponse(
        self,
        *,
        error_code: ErrorCode | int,
        topics: Sequence[_TopicData],
        error_message: str | None = ...,
        nodes: Sequence[_Node] = ...,
    ) -> _DescribeQuorumResponse: ...
    def Listener(
        self,
        *,
        name: str,
        host: str,
        port: int,
    ) -> _Listener: ...
    def Node(
        self,
        *,
        node_id: int,
        listeners: Sequence[_Listener],
    ) -> _Node: ...
