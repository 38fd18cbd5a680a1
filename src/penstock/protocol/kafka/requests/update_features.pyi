"""UpdateFeatures, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

class FeatureUpdateKey:
    feature: str
    max_version_level: int
    allow_downgrade: bool  # v0 to v0
    upgrade_type: int  # v1+

class UpdateFeaturesRequest:
    timeout: timedelta
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool  # v1+

class FeatureUpdateKeyValues(TypedDict, total=False):
    feature: str
    max_version_level: int
    allow_downgrade: bool  # v0 to v0
    upgrade_type: int  # v1+

class UpdateFeaturesRequestValues(TypedDict, total=False):
    timeout: timedelta | int
    feature_updates: Sequence[FeatureUpdateKeyValues]
    validate_only: bool  # v1+
