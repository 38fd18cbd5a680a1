"""ApiVersions, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class ApiVersion:
    api_key: int
    min_version: int
    max_version: int

class ApiVersionsResponse:
    error_code: ErrorCode
    api_keys: tuple[ApiVersion, ...]
    throttle_time: timedelta  # v1+
    supported_features: tuple[SupportedFeatureKey, ...]  # v3+
    finalized_features_epoch: int  # v3+
    finalized_features: tuple[FinalizedFeatureKey, ...]  # v3+
    zk_migration_ready: bool  # v3+

class SupportedFeatureKey:
    name: str
    min_version: int
    max_version: int

class FinalizedFeatureKey:
    name: str
    max_version_level: int
    min_version_level: int

_ApiVersion = ApiVersion
_ApiVersionsResponse = ApiVersionsResponse
_SupportedFeatureKey = SupportedFeatureKey
_FinalizedFeatureKey = FinalizedFeatureKey

class ApiVersionsBuilders:
    version: int
    def has(
        self,
        name: Literal[
            "ApiVersion",
            "ApiVersionsResponse",
            "SupportedFeatureKey",
            "FinalizedFeatureKey",
        ],
    ) -> bool: ...
    def ApiVersion(
        self,
        *,
        api_key: int,
        min_version: int,
        max_version: int,
    ) -> _ApiVersion: ...
    def ApiVersionsResponse(
        self,
        *,
        error_code: ErrorCode | int,
        api_keys: Sequence[_ApiVersion],
        throttle_time: timedelta | int = ...,
        supported_features: Sequence[_SupportedFeatureKey] = ...,
        finalized_features_epoch: int = ...,
        finalized_features: Sequence[_FinalizedFeatureKey] = ...,
        zk_migration_ready: bool = ...,
    ) -> _ApiVersionsResponse: ...
    def SupportedFeatureKey(
        self,
        *,
        name: str,
        min_version: int,
        max_version: int,
    ) -> _SupportedFeatureKey: ...
    def FinalizedFeatureKey(
        self,
        *,
        name: str,
        max_version_level: int,
        min_version_level: int,
    ) -> _FinalizedFeatureKey: ...
