"""UpdateFeatures, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class UpdatableFeatureResult:
    feature: str
    error_code: ErrorCode
    error_message: str | None

class UpdateFeaturesResponse:
    throttle_time: timedelta
    error_code: ErrorCode
    error_message: str | None
    results: tuple[UpdatableFeatureResult, ...]  # v0 to v1

_UpdatableFeatureResult = UpdatableFeatureResult
_UpdateFeaturesResponse = UpdateFeaturesResponse

class UpdateFeaturesBuilders:
    version: int
    def has(self, name: Literal["UpdatableFeatureResult", "UpdateFeaturesResponse"]) -> bool: ...
    def UpdatableFeatureResult(
        self,
        *,
        feature: str,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _UpdatableFeatureResult: ...
    def UpdateFeaturesResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        error_code: ErrorCode | int,
        error_message: str | None,
        results: Sequence[_UpdatableFeatureResult] = ...,
    ) -> _UpdateFeaturesResponse: ...
