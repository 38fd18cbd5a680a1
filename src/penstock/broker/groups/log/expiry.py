"""Removal of offsets that are no longer needed, by tombstones: expired ones, and those of deleted topics.

A group without members goes with the last of its offsets. Writes that are refused here are not repeated at once: the
next sweep, or the next start, finds the same offsets again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupState
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.expiry import expired
from penstock.broker.groups.offsets.records import OffsetChange
from penstock.cluster.topics import TopicChange, TopicTable
from penstock.config.settings import GroupSettings
from penstock.model.errors import ErrorCode
from penstock.model.ids import NO_TOPIC_ID
from penstock.runtime.clock import Clock

logger = logging.getLogger(__name__)

GROUPS_PER_STEP = 200  # of a sweep, before other work gets its turn

IsExempt = Callable[[str], bool]
"""Whether the offsets of a group stay however old they are."""


class OffsetExpiry:
    """Looks at all groups every few minutes, and at those of a topic that is deleted."""

    def __init__(self, shards: Iterable[Shard], topics: TopicTable, settings: GroupSettings, clock: Clock) -> None:
        self._shards = shards
        self._topics = topics
        self._settings = settings
        self._clock = clock
        self._exemptions: list[IsExempt] = []

    def exempt(self, is_exempt: IsExempt) -> None:
        """Exempt the groups for which `is_exempt` is true, as those of push subscriptions."""
        self._exemptions.append(is_exempt)

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(self._settings.offsets_retention_check_interval_ms / 1000)
            await self.sweep()

    async def sweep(self) -> None:
        """Remove offsets whose retention time is over, and empty groups that have none left."""
        for shard in self._shards:
            for count, group in enumerate(tuple(shard.groups.values()), 1):
                is_live = group.state is not GroupState.DEAD and shard.state is CoordinatorState.ACTIVE
                if is_live and not any(is_exempt(group.group_id) for is_exempt in self._exemptions):
                    self._sweep_group(shard, group)
                if count % GROUPS_PER_STEP == 0:
                    await asyncio.sleep(0)

    def _sweep_group(self, shard: Shard, group: CoordinatedGroup) -> None:
        group_id, offsets = group.group_id, shard.offsets.get(group.group_id)
        if offsets is not None:
            retention_ms = self._settings.offsets_retention_minutes * 60_000
            is_pending = shard.offsets.pending.is_pending
            removals = [
                removal
                for removal in expired(offsets, group, self._clock.now_ms(), retention_ms)
                if not is_pending(group_id, removal.topic, removal.partition)
            ]
            if removals:
                logger.info("group %s: %d offsets expired", group_id, len(removals))
                shard.change_offsets(group_id, removals, _ignore)
        if group.is_vacant and not shard.offsets.has_group(group_id):
            shard.delete(group, _ignore)

    def topic_changed(self, change: TopicChange) -> None:
        """Remove the offsets of a topic that was deleted."""
        if change.deleted is not None:
            for shard in self._shards:
                for group_id in shard.offsets.group_ids:
                    lost = shard.offsets.removals(group_id, change.deleted.name)
                    if lost:
                        shard.change_offsets(group_id, lost, _ignore)

    def forget_lost_topics(self, shard: Shard) -> None:
        """Remove offsets of topics that were deleted, or deleted and made again, before the shard was loaded."""
        for group_id in shard.offsets.group_ids:
            lost = [
                OffsetChange(stored.topic, stored.partition, None)
                for stored in shard.offsets.stored(group_id)
                if self._is_lost(stored.topic, stored.committed.topic_id)
            ]
            if lost and shard.state is CoordinatorState.ACTIVE:
                shard.change_offsets(group_id, lost, _ignore)

    def _is_lost(self, name: str, topic_id: object) -> bool:
        topic = self._topics.get(name)
        return topic is None or topic_id not in (NO_TOPIC_ID, topic.topic_id)


def _ignore(code: ErrorCode) -> None:
    """No request waits for the outcome."""
