"""LeaveGroup, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class LeaveGroupResponse:
    error_code: ErrorCode
    throttle_time: timedelta  # v1+
    members: tuple[MemberResponse, ...]  # v3+

class MemberResponse:
    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode

_LeaveGroupResponse = LeaveGroupResponse
_MemberResponse = MemberResponse

class LeaveGroupBuilders:
    version: int
    def has(self, name: Literal["LeaveGroupResponse", "MemberResponse"]) -> bool: ...
    def LeaveGroupResponse(
        self,
        *,
        error_code: ErrorCode | int,
        throttle_time: timedelta | int = ...,
        members: Sequence[_MemberResponse] = ...,
    ) -> _LeaveGroupResponse: ...
    def MemberResponse(
        self,
        *,
        member_id: str,
        group_instance_id: str | None,
        error_code: ErrorCode | int,
    ) -> _MemberResponse: ...
