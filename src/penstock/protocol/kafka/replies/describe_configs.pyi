"""DescribeConfigs, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class DescribeConfigsSynonym:
    name: str
    value: str | None
    source: int

class DescribeConfigsResourceResult:
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...]
    config_type: int  # v3+
    documentation: str | None  # v3+

class DescribeConfigsResult:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...]

class DescribeConfigsResponse:
    throttle_time: timedelta
    results: tuple[DescribeConfigsResult, ...]

_DescribeConfigsSynonym = DescribeConfigsSynonym
_DescribeConfigsResourceResult = DescribeConfigsResourceResult
_DescribeConfigsResult = DescribeConfigsResult
_DescribeConfigsResponse = DescribeConfigsResponse

class DescribeConfigsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "DescribeConfigsSynonym",
            "DescribeConfigsResourceResult",
            "DescribeConfigsResult",
            "DescribeConfigsResponse",
        ],
    ) -> bool: ...
    def DescribeConfigsSynonym(
        self,
        *,
        name: str,
        value: str | None,
        source: int,
    ) -> _DescribeConfigsSynonym: ...
    def DescribeConfigsResourceResult(
        self,
        *,
        name: str,
        value: str | None,
        read_only: bool,
        config_source: int = ...,
        is_sensitive: bool,
        synonyms: Sequence[_DescribeConfigsSynonym],
        config_type: int = ...,
        documentation: str | None = ...,
    ) -> _DescribeConfigsResourceResult: ...
    def DescribeConfigsResult(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        resource_type: int,
        resource_name: str,
        configs: Sequence[_DescribeConfigsResourceResult],
    ) -> _DescribeConfigsResult: ...
    def DescribeConfigsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_DescribeConfigsResult],
    ) -> _DescribeConfigsResponse: ...
