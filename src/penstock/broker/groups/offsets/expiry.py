"""When a committed offset expires (KIP-211).

The group says from when on the retention time runs: for a classic group from the moment it became empty; from the
commit for consumers without a group, and for topics that a stable group no longer reads; otherwise not at all.
"""

from __future__ import annotations

from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.offsets.group_offsets import GroupOffsets
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.model.ids import NO_TIMESTAMP


def expired(offsets: GroupOffsets, group: CoordinatedGroup, now_ms: int, retention_ms: int) -> list[OffsetChange]:
    """Removals of the offsets whose retention time is over."""
    return [
        OffsetChange(topic, partition, None)
        for topic, partition, committed in offsets.stored()
        if _is_expired(committed, group.retention_start_ms(topic, committed), now_ms, retention_ms)
    ]


def _is_expired(committed: CommittedOffset, start_ms: int | None, now_ms: int, retention_ms: int) -> bool:
    if start_ms is None:
        return False
    if committed.expire_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_ms
    return now_ms - start_ms >= retention_ms
