"""CreateTopics, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from kio.schema.errors import ErrorCode

class CreatableTopicResult:
    name: str
    error_code: ErrorCode
    error_message: str | None
    topic_config_error_code: int  # v5+
    num_partitions: int  # v5+
    replication_factor: int  # v5+
    configs: tuple[CreatableTopicConfigs, ...] | None  # v5+
    topic_id: UUID | None  # v7+

class CreateTopicsResponse:
    throttle_time: timedelta
    topics: tuple[CreatableTopicResult, ...]

class CreatableTopicConfigs:
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool

_CreatableTopicResult = CreatableTopicResult
_CreateTopicsResponse = CreateTopicsResponse
_CreatableTopicConfigs = CreatableTopicConfigs

class CreateTopicsBuilders:
    version: int
    def has(self, name: Literal["CreatableTopicResult", "CreateTopicsResponse", "CreatableTopicConfigs"]) -> bool: ...
    def CreatableTopicResult(
        self,
        *,
        name: str,
        error_code: ErrorCode | int,
        error_message: str | None,
        topic_config_error_code: int = ...,
        num_partitions: int = ...,
        replication_factor: int = ...,
        configs: Sequence[_CreatableTopicConfigs] | None = ...,
        topic_id: UUID | None = ...,
    ) -> _CreatableTopicResult: ...
    def CreateTopicsResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        topics: Sequence[_CreatableTopicResult],
    ) -> _CreateTopicsResponse: ...
    def CreatableTopicConfigs(
        self,
        *,
        name: str,
        value: str | None,
        read_only: bool,
        config_source: int = ...,
        is_sensitive: bool,
    ) -> _CreatableTopicConfigs: ...
