"""Metadata, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class MetadataResponseBroker:
    node_id: int
    host: str
    port: int
    rack: str | None  # v1+

class MetadataResponsePartition:
    error_code: ErrorCode
    partition_index: int
    leader_id: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    leader_epoch: int  # v7+
    offline_replicas: tuple[int, ...]  # v5+

class MetadataResponseTopic:
    error_code: ErrorCode
    name: str | None
    partitions: tuple[MetadataResponsePartition, ...]
    is_internal: bool  # v1+
    topic_id: UUID | None  # v10+
    topic_authorized_operations: int  # v8+

class MetadataResponse:
    brokers: tuple[MetadataResponseBroker, ...]
    topics: tuple[MetadataResponseTopic, ...]
    controller_id: int  # v1+
    throttle_time: timedelta  # v3+
    cluster_id: str | None  # v2+
    cluster_authorized_operations: int  # v8 to v10
    error_code: ErrorCode  # v13+

_MetadataResponseBroker = MetadataResponseBroker
_MetadataResponsePartition = MetadataResponsePartition
_MetadataResponseTopic = MetadataResponseTopic
_MetadataResponse = MetadataResponse

class MetadataBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "MetadataResponseBroker",
            "MetadataResponsePartition",
            "MetadataResponseTopic",
            "MetadataResponse",
        ],
    ) -> bool: ...
    def MetadataResponseBroker(
        self,
        *,
        node_id: int,
        host: str,
        port: int,
        rack: str | None = ...,
    ) -> _MetadataResponseBroker: ...
    def MetadataResponsePartition(
        self,
        *,
        error_code: ErrorCode | int,
        partition_index: int,
        leader_id: int,
        replica_nodes: Sequence[int] = ...,
        isr_nodes: Sequence[int] = ...,
        leader_epoch: int = ...,
        offline_replicas: Sequence[int] = ...,
    ) -> _MetadataResponsePartition: ...
    def MetadataResponseTopic(
        self,
        *,
        error_code: ErrorCode | int,
        name: str | None,
        partitions: Sequence[_MetadataResponsePartition],
        is_internal: bool = ...,
        topic_id: UUID | None = ...,
        topic_authorized_operations: int = ...,
    ) -> _MetadataResponseTopic: ...
    def MetadataResponse(
        self,
        *,
        brokers: Sequence[_MetadataResponseBroker],
        topics: Sequence[_MetadataResponseTopic],
        controller_id: int = ...,
        throttle_time: timedelta | int = ...,
        cluster_id: str | None = ...,
        cluster_authorized_operations: int = ...,
        error_code: ErrorCode | int = ...,
    ) -> _MetadataResponse: ...
