"""CreatePartitions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class CreatePartitionsTopicResult:
    name: str
    error_code: ErrorCode
    error_message: str | None

class CreatePartitionsResponse:
    throttle_time: timedelta
    results: tuple[CreatePartitionsTopicResult, ...]

_CreatePartitionsTopicResult = CreatePartitionsTopicResult
_CreatePartitionsResponse = CreatePartitionsResponse

class CreatePartitionsBuilders:
    version: int
    def has(self, name: Literal["CreatePartitionsTopicResult", "CreatePartitionsResponse"]) -> bool: ...
    def CreatePartitionsTopicResult(
        self,
        *,
        name: str,
        error_code: ErrorCode | int,
        error_message: str | None = ...,
    ) -> _CreatePartitionsTopicResult: ...
    def CreatePartitionsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        results: Sequence[_CreatePartitionsTopicResult],
    ) -> _CreatePartitionsResponse: ...
