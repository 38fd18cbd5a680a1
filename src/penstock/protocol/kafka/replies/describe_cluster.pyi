"""DescribeCluster, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DescribeClusterBroker:
    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool  # v2+

class DescribeClusterResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    cluster_id: str
    controller_id: int
    brokers: tuple[DescribeClusterBroker, ...]
    cluster_authorized_operations: int
    endpoint_type: int  # v1+

_DescribeClusterBroker = DescribeClusterBroker
_DescribeClusterResponse = DescribeClusterResponse

class DescribeClusterBuilders:
    version: int
    def has(self, name: Literal["DescribeClusterBroker", "DescribeClusterResponse"]) -> bool: ...
    def DescribeClusterBroker(
        self,
        *,
        broker_id: int,
        host: str,
        port: int,
        rack: str | None = ...,
        is_fenced: bool = ...,
    ) -> _DescribeClusterBroker: ...
    def DescribeClusterResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None = ...,
        cluster_id: str,
        controller_id: int = ...,
        brokers: Sequence[_DescribeClusterBroker],
        cluster_authorized_operations: int = ...,
        endpoint_type: int = ...,
    ) -> _DescribeClusterResponse: ...
