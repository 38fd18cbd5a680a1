"""FindCoordinator, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class FindCoordinatorResponse:
    error_code: ErrorCode  # v0 to v3
    node_id: int  # v0 to v3
    host: str  # v0 to v3
    port: int  # v0 to v3
    throttle_time: timedelta  # v1+
    error_message: str | None  # v1 to v3
    coordinators: tuple[Coordinator, ...]  # v4+

class Coordinator:
    key: str
    node_id: int
    host: str
    port: int
    error_code: ErrorCode
    error_message: str | None

_FindCoordinatorResponse = FindCoordinatorResponse
_Coordinator = Coordinator

class FindCoordinatorBuilders:
    version: int
    def has(self, name: Literal["FindCoordinatorResponse", "Coordinator"]) -> bool: ...
    def FindCoordinatorResponse(
        self,
        *,
        error_code: ErrorCode | int = ...,
        node_id: int = ...,
        host: str = ...,
        port: int = ...,
        throttle_time: timedelta | int = ...,
        error_message: str | None = ...,
        coordinators: Sequence[_Coordinator] = ...,
    ) -> _FindCoordinatorResponse: ...
    def Coordinator(
        self,
        *,
        key: str,
        node_id: int,
        host: str,
        port: int,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _Coordinator: ...
