"""AlterUserScramCredentials, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AlterUserScramCredentialsResult:
    user: str
    error_code: ErrorCode
    error_message: str | None

class AlterUserScramCredentialsResponse:
    throttle_time: timedelta
    results: tuple[AlterUserScramCredentialsResult, ...]

_AlterUserScramCredentialsResult = AlterUserScramCredentialsResult
_AlterUserScramCredentialsResponse = AlterUserScramCredentialsResponse

class AlterUserScramCredentialsBuilders:
    version: int
    def has(self, name: Literal["AlterUserScramCredentialsResult", "AlterUserScramCredentialsResponse"]) -> bool: ...
    def AlterUserScramCredentialsResult(
        self,
        *,
        user: str,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _AlterUserScramCredentialsResult: ...
    def AlterUserScramCredentialsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_AlterUserScramCredentialsResult],
    ) -> _AlterUserScramCredentialsResponse: ...
