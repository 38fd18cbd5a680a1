"""When a committed offset expires (KIP-211).

The group says from when on the retention time runs: for a classic group from the moment it became empty; from the
commit for consumers without a group, and for topics that a stable group no longer reads; otherwise not at all.
"""

from __future__ import annotations

from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.model.ids import NO_TIMESTAMP


def is_expired(topic: str, committed: CommittedOffset, group: CoordinatedGroup, now_ms: int, retention_ms: int) -> bool:
    """Whether the retention time of an offset of the group is over."""
    start_ms = group.retention_start_ms(topic, committed)
    if start_ms is None:
        return False
    if committed.expire_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_ms
    return now_ms - start_ms >= retention_ms
