"""Removal of offsets that are no longer needed, by tombstones: expired ones, and those of deleted topics.

A group without members goes with the last of its offsets. Writes that are refused here are not repeated at once: the
next sweep, or the next start, finds the same offsets again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.log.removal import remove_due
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.expiry import is_expired
from penstock.broker.groups.offsets.pending import Place
from penstock.cluster.topics import TopicChange, TopicTable
from penstock.config.settings import GroupSettings
from penstock.model.counted import counted
from penstock.model.errors import ErrorCode
from penstock.model.ids import NO_TOPIC_ID
from penstock.runtime.background import Background
from penstock.runtime.clock import Clock
from penstock.runtime.turns import Steps, Turns, begin

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
        self._background = Background()

    def exempt(self, is_exempt: IsExempt) -> None:
        """Exempt the groups for which `is_exempt` is true, as those of push subscriptions."""
        self._exemptions.append(is_exempt)

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(self._settings.offsets_retention_check_interval_ms / 1000)
            await self.sweep()

    def stop(self) -> None:
        """End what goes on in the background. The next start finds the offsets that are left."""
        self._background.cancel()

    async def sweep(self) -> None:
        """Remove offsets whose retention time is over, and empty groups that have none left."""
        turns = Turns()
        for shard in self._shards:
            for group in tuple(shard.groups.values()):
                if self._is_swept(shard, group):
                    for _ in self._sweep_group(shard, group):
                        await turns.pause()
                await turns.pause()

    def _is_swept(self, shard: Shard, group: CoordinatedGroup) -> bool:
        group_id = group.group_id
        return (
            shard.groups.get(group_id) is group  # it may be deleted, or held, since the sweep began
            and shard.state is CoordinatorState.ACTIVE
            and not shard.is_being_deleted(group_id)
            and not any(is_exempt(group_id) for is_exempt in self._exemptions)
        )

    def _sweep_group(self, shard: Shard, group: CoordinatedGroup) -> Steps[None]:
        group_id, offsets = group.group_id, shard.offsets.get(group.group_id)
        if offsets is not None:
            is_expired = partial(self._is_expired, shard, group)
            count = yield from remove_due(shard, group_id, tuple(offsets.places()), is_expired)
            if count:
                shard.report(group_id, f"{counted(count, 'offset')} expired")
        if self._is_swept(shard, group) and group.is_vacant and not shard.offsets.has_group(group_id):
            shard.delete(group, _ignore)

    def _is_expired(self, shard: Shard, group: CoordinatedGroup, place: Place) -> bool:
        offsets = shard.offsets.get(group.group_id)
        committed = None if offsets is None else offsets.get(place)
        if committed is None or shard.groups.get(group.group_id) is not group:
            return False
        retention_ms = self._settings.offsets_retention_minutes * 60_000
        return is_expired(
            place[0], committed, group, self._clock.now_ms(), retention_ms
        ) and not shard.offsets.pending.is_pending(group.group_id, *place)

    # --- topics that are gone ----------------------------------------------------------------------------------------

    def topic_changed(self, change: TopicChange) -> None:
        """Remove the offsets of a topic that was deleted; very many of them in the background."""
        if change.deleted is not None:
            rest = begin(self._forget_topic(change.deleted.name))
            if rest is not None:
                self._background.start(rest)

    def _forget_topic(self, topic: str) -> Steps[None]:
        for shard in self._shards:
            for group_id in shard.offsets.group_ids:
                places = tuple(shard.offsets.places(group_id, topic))
                yield from remove_due(shard, group_id, places, partial(self._is_left, shard, group_id))
                yield

    def _is_left(self, shard: Shard, group_id: str, place: Place) -> bool:
        """Whether all that is stored there is of a topic that is gone, and not of one that has its name since."""
        topic = self._topics.get(place[0])
        return topic is None or all(
            committed.topic_id != topic.topic_id for committed in shard.offsets.stored_at(group_id, place)
        )

    def forget_lost_topics(self, shard: Shard) -> Steps[None]:
        """Remove offsets of topics that were deleted, or deleted and made again, before the shard was loaded."""
        lost = {}
        for group_id in shard.offsets.group_ids:
            stored = shard.offsets.stored(group_id)
            places = [each[:2] for each in stored if self._is_lost(each.topic, each.committed.topic_id)]
            if places:
                lost[group_id] = places
        for group_id, places in lost.items():
            yield from remove_due(shard, group_id, places, partial(self._has_lost, shard, group_id))

    def _has_lost(self, shard: Shard, group_id: str, place: Place) -> bool:
        stored = shard.offsets.stored_at(group_id, place)
        return any(self._is_lost(place[0], committed.topic_id) for committed in stored)

    def _is_lost(self, name: str, topic_id: object) -> bool:
        topic = self._topics.get(name)
        return topic is None or topic_id not in (NO_TOPIC_ID, topic.topic_id)


def _ignore(code: ErrorCode) -> None:
    """No request waits for the outcome."""
