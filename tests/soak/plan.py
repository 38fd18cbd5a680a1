"""The plan of a soak: the broker's settings, the topics, and a timetable. Every time follows from the length.

Segments are small, retention is short and upkeep comes round every two seconds, so that in minutes a log lives through
what takes weeks elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BROKER_CONFIG = """\
groups:
  initial_rebalance_delay_ms: 500
storage:
  retention_check_interval_ms: 2000
  compaction_check_interval_ms: 2000
  checkpoint_interval_ms: 10000
  checkpoint_bytes: 4 MiB
"""

MIB = 1 << 20
WARM_UP_SECONDS_MAX = 600.0
TREND_SECONDS_MIN = 2200.0
"""A run of this length watches a warm broker for 20 minutes after its last restart; less says nothing about growth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    name: str
    partitions: int
    configs: Mapping[str, str]
    retention_ms: int | None = None
    retention_bytes: int | None = None


SIZED = Topic(
    name="sized",
    partitions=2,
    configs={"segment.bytes": str(MIB), "retention.bytes": str(2 * MIB), "retention.ms": "-1"},
    retention_bytes=2 * MIB,
)
TIMED = Topic(
    name="timed",
    partitions=3,
    configs={"segment.bytes": str(MIB), "segment.ms": "5000", "retention.ms": "30000"},
    retention_ms=30_000,
)
KEYED = Topic(
    name="keyed",
    partitions=2,
    configs={
        "cleanup.policy": "compact",
        "segment.bytes": str(MIB),
        "segment.ms": "5000",
        "min.cleanable.dirty.ratio": "0.1",
        "delete.retention.ms": "3000",
    },
)
LOGGED = (SIZED, TIMED)  # every offset is accounted for
TOPICS = (SIZED, TIMED, KEYED)
PARTITION_BYTES_MAX = 12 * MIB
"""The size limit of a partition: retention, a segment or two, and a few seconds of a fast producer."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Moments in seconds from the start of the load."""

    total: float

    @property
    def kill_at(self) -> float:
        return self.total / 6

    @property
    def stop_at(self) -> float:
        return self.total / 3

    @property
    def warm_up(self) -> float:
        """How long memory may grow after a start of the broker."""
        return min(WARM_UP_SECONDS_MAX, self.total / 10)

    @property
    def first_rest_at(self) -> float:
        """All clients leave for a moment; what is open then is compared with what is open at the end."""
        return self.stop_at + self.warm_up

    @property
    def shows_trend(self) -> bool:
        """A shorter run is a smoke run."""
        return self.total >= TREND_SECONDS_MIN

    @property
    def reread_every(self) -> float:
        return max(10.0, min(300.0, self.total / 12))
