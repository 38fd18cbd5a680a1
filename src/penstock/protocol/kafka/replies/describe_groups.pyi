"""DescribeGroups, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DescribedGroupMember:
    member_id: str
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes
    group_instance_id: str | None  # v4+

class DescribedGroup:
    error_code: ErrorCode
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: int  # v3+
    error_message: str | None  # v6+

class DescribeGroupsResponse:
    groups: tuple[DescribedGroup, ...]
    throttle_time: timedelta  # v1+

_DescribedGroupMember = DescribedGroupMember
_DescribedGroup = DescribedGroup
_DescribeGroupsResponse = DescribeGroupsResponse

class DescribeGroupsBuilders:
    version: int
    def has(self, name: Literal["DescribedGroupMember", "DescribedGroup", "DescribeGroupsResponse"]) -> bool: ...
    def DescribedGroupMember(
        self,
        *,
        member_id: str,
        client_id: str,
        client_host: str,
        member_metadata: bytes,
        member_assignment: bytes,
        group_instance_id: str | None = ...,
    ) -> _DescribedGroupMember: ...
    def DescribedGroup(
        self,
        *,
        error_code: ErrorCode | int,
        group_id: str,
        group_state: str,
        protocol_type: str,
        protocol_data: str,
        members: Sequence[_DescribedGroupMember],
        authorized_operations: int = ...,
        error_message: str | None = ...,
    ) -> _DescribedGroup: ...
    def DescribeGroupsResponse(
        self,
        *,
        groups: Sequence[_DescribedGroup],
        throttle_time: timedelta | int = ...,
    ) -> _DescribeGroupsResponse: ...
