"""The cluster features that ApiVersions tells clients of and UpdateFeatures checks against.

Only what Penstock really has is listed: a client that sees `group.version` finalized uses the
protocol behind it. Levels never change at run time, so the epoch of the finalized ones is constant.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Feature(NamedTuple):
    name: str
    min_level: int
    max_level: int
    finalized_level: int  # 0: not finalized


FEATURES: Final = (
    # 30 is Kafka 4.3; 7 the first that KRaft clusters had.
    Feature("metadata.version", 7, 30, 30),
    Feature("kraft.version", 0, 1, 0),
    Feature("transaction.version", 0, 2, 2),
)
FINALIZED_EPOCH: Final = 0
