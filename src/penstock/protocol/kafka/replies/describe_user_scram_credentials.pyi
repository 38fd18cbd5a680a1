"""DescribeUserScramCredentials, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class CredentialInfo:
    mechanism: int
    iterations: int

class DescribeUserScramCredentialsResult:
    user: str
    error_code: ErrorCode
    error_message: str | None
    credential_infos: tuple[CredentialInfo, ...]

class DescribeUserScramCredentialsResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    results: tuple[DescribeUserScramCredentialsResult, ...]

_CredentialInfo = CredentialInfo
_DescribeUserScramCredentialsResult = DescribeUserScramCredentialsResult
_DescribeUserScramCredentialsResponse = DescribeUserScramCredentialsResponse

class DescribeUserScramCredentialsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "CredentialInfo",
            "DescribeUserScramCredentialsResult",
            "DescribeUserScramCredentialsResponse",
        ],
    ) -> bool: ...
    def CredentialInfo(
        self,
        *,
        mechanism: int,
        iterations: int,
    ) -> _CredentialInfo: ...
    def DescribeUserScramCredentialsResult(
        self,
        *,
        user: str,
        error_code: ErrorCode | int,
        error_message: str | None,
        credential_infos: Sequence[_CredentialInfo],
    ) -> _DescribeUserScramCredentialsResult: ...
    def DescribeUserScramCredentialsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        results: Sequence[_DescribeUserScramCredentialsResult],
    ) -> _DescribeUserScramCredentialsResponse: ...
