"""UpdateFeatures, requests. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta

class FeatureUpdateKey:
    feature: str
    max_version_level: int
    allow_downgrade: bool  # v0 to v0
    upgrade_type: int  # v1+

class UpdateFeaturesRequest:
    timeout: timedelta
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool  # v1+
