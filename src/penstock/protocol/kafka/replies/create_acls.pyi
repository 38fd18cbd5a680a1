"""CreateAcls, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AclCreationResult:
    error_code: ErrorCode
    error_message: str | None

class CreateAclsResponse:
    throttle_time: timedelta
    results: tuple[AclCreationResult, ...]

_AclCreationResult = AclCreationResult
_CreateAclsResponse = CreateAclsResponse

class CreateAclsBuilders:
    version: int
    def has(self, name: Literal["AclCreationResult", "CreateAclsResponse"]) -> bool: ...
    def AclCreationResult(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _AclCreationResult: ...
    def CreateAclsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_AclCreationResult],
    ) -> _CreateAclsResponse: ...
