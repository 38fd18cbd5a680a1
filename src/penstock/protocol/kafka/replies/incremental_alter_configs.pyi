"""IncrementalAlterConfigs, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class AlterConfigsResourceResponse:
    error_code: ErrorCode
    error_message: str | None
    resource_type: int
    resource_name: str

class IncrementalAlterConfigsResponse:
    throttle_time: timedelta
    responses: tuple[AlterConfigsResourceResponse, ...]

_AlterConfigsResourceResponse = AlterConfigsResourceResponse
_IncrementalAlterConfigsResponse = IncrementalAlterConfigsResponse

class IncrementalAlterConfigsBuilders:
    version: int
    def has(self, name: Literal["AlterConfigsResourceResponse", "IncrementalAlterConfigsResponse"]) -> bool: ...
    def AlterConfigsResourceResponse(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        resource_type: int,
        resource_name: str,
    ) -> _AlterConfigsResourceResponse: ...
    def IncrementalAlterConfigsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        responses: Sequence[_AlterConfigsResourceResponse],
    ) -> _IncrementalAlterConfigsResponse: ...
