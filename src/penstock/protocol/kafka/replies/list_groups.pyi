"""ListGroups, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ListedGroup:
    group_id: str
    protocol_type: str
    group_state: str  # v4+
    group_type: str  # v5+

class ListGroupsResponse:
    error_code: ErrorCode
    groups: tuple[ListedGroup, ...]
    throttle_time: timedelta  # v1+

_ListedGroup = ListedGroup
_ListGroupsResponse = ListGroupsResponse

class ListGroupsBuilders:
    version: int
    def has(self, name: Literal["ListedGroup", "ListGroupsResponse"]) -> bool: ...
    def ListedGroup(
        self,
        *,
        group_id: str,
        protocol_type: str,
        group_state: str = ...,
        group_type: str = ...,
    ) -> _ListedGroup: ...
    def ListGroupsResponse(
        self,
        *,
        error_code: ErrorCode | int,
        groups: Sequence[_ListedGroup],
        throttle_time: timedelta | int = ...,
    ) -> _ListGroupsResponse: ...
