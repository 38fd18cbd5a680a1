"""UpdateFeatures (key 57, v0–2): raise or lower the finalized versions of cluster features (KIP-584).

Behaviour:
- If one update fails, all do.

Differs from Kafka:
- The features and their versions are fixed (`broker.features`): an update to the version in force succeeds, any other
  is INVALID_UPDATE_VERSION.

Version notes:
- v0 has AllowDowngrade, v1 upgrade types and ValidateOnly; v2 has no results per feature any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.features import FEATURES
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.update_features import (
        UpdatableFeatureResult,
        UpdateFeaturesBuilders,
        UpdateFeaturesResponse,
    )
    from penstock.protocol.kafka.requests.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    UpdateFeatures = Request[UpdateFeaturesRequest, UpdateFeaturesBuilders]

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def handle(broker: Broker, request: UpdateFeatures) -> UpdateFeaturesResponse:
    updates = request.body.feature_updates
    if not broker.access.allows_cluster(request.session, Operation.ALTER):
        return _answer(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, ())
    for update in updates:
        problem = _problem(broker, update)
        if problem is not None:
            message = (
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.max_version_level} for feature {update.feature}. {problem}"
            )
            return _answer(request, ErrorCode.INVALID_UPDATE_VERSION, message, ())
    return _answer(request, ErrorCode.NONE, None, updates)


def _problem(broker: Broker, update: FeatureUpdateKey) -> str | None:
    level = update.max_version_level
    feature = next((feature for feature in FEATURES if feature.name == update.feature), None)
    if level < 0:
        return "A feature version cannot be less than 0."
    if field(update, "upgrade_type", UPGRADE) not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if feature is None:
        return f"Local controller {broker.node_id} does not support this feature."
    if level != feature.finalized_level:
        return f"Local controller {broker.node_id} only supports version {feature.finalized_level}"
    return None


def _answer(
    request: UpdateFeatures,
    code: ErrorCode,
    message: str | None,
    updates: tuple[FeatureUpdateKey, ...],
) -> UpdateFeaturesResponse:
    results: tuple[UpdatableFeatureResult, ...] = ()
    if request.reply.has("UpdatableFeatureResult"):
        results = tuple(
            request.reply.UpdatableFeatureResult(
                feature=update.feature, error_code=ErrorCode.NONE, error_message="NONE"
            )
            for update in updates
        )
    return request.reply.UpdateFeaturesResponse(error_code=code, error_message=message, results=results)
