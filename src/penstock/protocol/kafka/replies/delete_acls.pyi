"""DeleteAcls, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DeleteAclsMatchingAcl:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

class DeleteAclsFilterResult:
    error_code: ErrorCode
    error_message: str | None
    matching_acls: tuple[DeleteAclsMatchingAcl, ...]

class DeleteAclsResponse:
    throttle_time: timedelta
    filter_results: tuple[DeleteAclsFilterResult, ...]

_DeleteAclsMatchingAcl = DeleteAclsMatchingAcl
_DeleteAclsFilterResult = DeleteAclsFilterResult
_DeleteAclsResponse = DeleteAclsResponse

class DeleteAclsBuilders:
    version: int
    def has(self, name: Literal["DeleteAclsMatchingAcl", "DeleteAclsFilterResult", "DeleteAclsResponse"]) -> bool: ...
    def DeleteAclsMatchingAcl(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        resource_type: int,
        resource_name: str,
        pattern_type: int = ...,
        principal: str,
        host: str,
        operation: int,
        permission_type: int,
    ) -> _DeleteAclsMatchingAcl: ...
    def DeleteAclsFilterResult(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        matching_acls: Sequence[_DeleteAclsMatchingAcl],
    ) -> _DeleteAclsFilterResult: ...
    def DeleteAclsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        filter_results: Sequence[_DeleteAclsFilterResult],
    ) -> _DeleteAclsResponse: ...
