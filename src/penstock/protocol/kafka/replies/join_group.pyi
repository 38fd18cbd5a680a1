"""JoinGroup, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class JoinGroupResponseMember:
    member_id: str
    metadata: bytes
    group_instance_id: str | None  # v5+

class JoinGroupResponse:
    error_code: ErrorCode
    generation_id: int
    protocol_name: str | None
    leader: str
    member_id: str
    members: tuple[JoinGroupResponseMember, ...]
    throttle_time: timedelta  # v2+
    protocol_type: str | None  # v7+
    skip_assignment: bool  # v9+

_JoinGroupResponseMember = JoinGroupResponseMember
_JoinGroupResponse = JoinGroupResponse

class JoinGroupBuilders:
    version: int
    def has(self, name: Literal["JoinGroupResponseMember", "JoinGroupResponse"]) -> bool: ...
    def JoinGroupResponseMember(
        self,
        *,
        member_id: str,
        metadata: bytes,
        group_instance_id: str | None = ...,
    ) -> _JoinGroupResponseMember: ...
    def JoinGroupResponse(
        self,
        *,
        error_code: ErrorCode | int,
        generation_id: int = ...,
        protocol_name: str | None,
        leader: str,
        member_id: str,
        members: Sequence[_JoinGroupResponseMember],
        throttle_time: timedelta | int = ...,
        protocol_type: str | None = ...,
        skip_assignment: bool = ...,
    ) -> _JoinGroupResponse: ...
