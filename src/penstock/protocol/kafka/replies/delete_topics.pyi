"""DeleteTopics, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class DeletableTopicResult:
    name: str | None
    error_code: ErrorCode
    error_message: str | None  # v5+
    topic_id: UUID | None  # v6+

class DeleteTopicsResponse:
    throttle_time: timedelta
    responses: tuple[DeletableTopicResult, ...]

_DeletableTopicResult = DeletableTopicResult
_DeleteTopicsResponse = DeleteTopicsResponse

class DeleteTopicsBuilders:
    version: int
    def has(self, name: Literal["DeletableTopicResult", "DeleteTopicsResponse"]) -> bool: ...
    def DeletableTopicResult(
        self,
        *,
        name: str | None,
        error_code: ErrorCode | int,
        error_message: str | None = ...,
        topic_id: UUID | None = ...,
    ) -> _DeletableTopicResult: ...
    def DeleteTopicsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        responses: Sequence[_DeletableTopicResult],
    ) -> _DeleteTopicsResponse: ...
