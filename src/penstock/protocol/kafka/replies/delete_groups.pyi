"""DeleteGroups, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DeletableGroupResult:
    group_id: str
    error_code: ErrorCode

class DeleteGroupsResponse:
    throttle_time: timedelta
    results: tuple[DeletableGroupResult, ...]

_DeletableGroupResult = DeletableGroupResult
_DeleteGroupsResponse = DeleteGroupsResponse

class DeleteGroupsBuilders:
    version: int
    def has(self, name: Literal["DeletableGroupResult", "DeleteGroupsResponse"]) -> bool: ...
    def DeletableGroupResult(
        self,
        *,
        group_id: str,
        error_code: ErrorCode | int,
    ) -> _DeletableGroupResult: ...
    def DeleteGroupsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_DeletableGroupResult],
    ) -> _DeleteGroupsResponse: ...
