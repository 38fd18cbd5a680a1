"""All shards of the node: which one a group lives in, their loading, the groups' clocks, and what nobody asks for.

Everything runs on the event loop. One timer serves all groups: it is set to the earliest deadline of any member.
Offsets of deleted topics and those whose time is over are removed by tombstones, and with the last of them a group
that has no members.

While a shard is being loaded its groups are answered COORDINATOR_LOAD_IN_PROGRESS; if it has failed,
COORDINATOR_NOT_AVAILABLE (a KafkaError in both cases). The topic is made when the first group appears.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.coordination.coordinator_shards import CoordinatorShards
from penstock.broker.groups.exchange import Delivery, Now
from penstock.broker.groups.group import Group, GroupLimits, GroupState
from penstock.broker.groups.loading import load
from penstock.broker.groups.offsets import OffsetChange
from penstock.broker.groups.records import KEY_STRING_BYTES_MAX
from penstock.broker.groups.schedule import Schedule
from penstock.broker.groups.shard import Shard
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicChange, TopicTable
from penstock.config.settings import GroupSettings
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TOPIC_ID
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)

GROUPS_PER_STEP = 200  # of a sweep, before others get their turn


class Shards:
    """The groups of the node, by the partition of `__consumer_offsets` that holds them."""

    def __init__(
        self,
        *,
        settings: GroupSettings,
        partitions: PartitionTable,
        topics: TopicTable,
        controller: Controller,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._partitions = partitions
        self._topics = topics
        self._clock = clock
        self._limits = GroupLimits(
            initial_rebalance_delay_ms=settings.initial_rebalance_delay_ms,
            members_max=settings.members_max,
            new_member_id=lambda name: f"{name}-{uuid.uuid4()}",
        )
        self._shards = CoordinatorShards(CONSUMER_OFFSETS, partitions, controller, self._new_shard)
        self.is_kept: Callable[[str], bool] = lambda group_id: False
        """Whether a group's offsets stay however old they are: those of subscriptions do."""
        self._schedule = Schedule()
        self._timer: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Shard]:
        """Those that can be asked."""
        return iter(self._shards)

    def now(self) -> Now:
        return Now(self._clock.monotonic_ms(), self._clock.now_ms())

    # --- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._shards.running = True
        self._topics.subscribe(self._topic_changed)
        topic = self._topics.get(CONSUMER_OFFSETS)
        if topic is not None:
            self._shards.open(topic)
            self._loading = asyncio.create_task(self._load(), name="groups: load")
        self._sweeping = asyncio.create_task(self._sweep_for_ever(), name="groups: expiry")

    async def loaded(self) -> None:
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def stop(self) -> None:
        self._shards.running = False
        self._topics.unsubscribe(self._topic_changed)
        tasks = [task for task in (self._loading, self._sweeping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        for shard in self._shards.present():
            shard.abandon(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            shard.state = CoordinatorState.FAILED

    def _new_shard(self, partition: Partition) -> Shard:
        return Shard(partition, now=self.now, deliver=_deliver, changed=self._changed)

    async def _load(self) -> None:
        for shard in self._shards.loading():
            await load(shard, self._limits, self.now())
            for group in tuple(shard.groups.values()):
                shard.apply(group, group.trim(self.now()))
            self._forget_lost_topics(shard)

    # --- finding groups ----------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Make sure that the topic of the groups exists. Raises KafkaError if it cannot be made."""
        await self._shards.prepare()

    async def to_write(self, group_id: str) -> Shard:
        await self.prepare()
        shard = self.shard(group_id)
        if shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return shard

    def find(self, group_id: str) -> tuple[Shard, Group] | None:
        shard = self.shard(group_id)
        group = None if shard is None else shard.groups.get(group_id)
        return None if shard is None or group is None else (shard, group)

    def shard(self, group_id: str) -> Shard | None:
        """Where a group lives; None as long as no group has lived anywhere."""
        return self._shards.holder(group_id)

    async def place_of(self, group_id: str) -> TopicPartition:
        """The partition that a transaction has to have among its own to commit offsets of this group."""
        shard = await self.to_write(group_id)
        return TopicPartition(CONSUMER_OFFSETS, shard.partition.index)

    def end_transaction(self, partition: int, marker: Marker) -> None:
        """A marker in one of our partitions is on disk."""
        shard = self._shards.all[partition] if partition < len(self._shards.all) else None
        if shard is None:
            return
        if shard.state is CoordinatorState.LOADING:
            shard.ended_meanwhile.append(marker)
        elif shard.state is CoordinatorState.ACTIVE:
            shard.end_pending(marker)

    def check_loaded(self) -> None:
        """For what asks about all groups."""
        if self._shards.is_loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def create(self, shard: Shard, group_id: str) -> Group:
        if self.group_count >= self._settings.groups_max:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"{self.group_count} groups are the most")
        if len(group_id.encode()) > KEY_STRING_BYTES_MAX:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = shard.groups[group_id] = Group(group_id, self._limits, self.now())
        return group

    @property
    def group_count(self) -> int:
        return sum(len(shard.groups) for shard in self._shards.present())

    # --- time --------------------------------------------------------------------------------------------------------

    def _changed(self, group: Group) -> None:
        if self._schedule.note(group):
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_ms = self._schedule.next_ms()
        if next_ms is not None and self._shards.running:
            delay_ms = max(0, next_ms - self._clock.monotonic_ms())
            self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self.tick)

    def tick(self) -> None:
        """Let every group do what has become due."""
        now = self.now()
        for group in tuple(self._schedule.due(now.monotonic_ms)):
            shard = self._shards.place(group.group_id)
            if group.state is GroupState.DEAD or shard is None:
                continue
            try:
                shard.apply(group, group.advance(now))
            except Exception:  # a bug in one group must not stop the clocks of all others
                log.exception("group %s could not go on", group.group_id)
        self._set_timer()

    # --- what goes by itself -----------------------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._settings.offsets_retention_check_interval_ms / 1000)
            await self.sweep()

    async def sweep(self) -> None:
        """Remove offsets whose time is over, and empty groups that have none left."""
        retention_ms = self._settings.offsets_retention_minutes * 60_000
        for shard in self:
            for count, group in enumerate(tuple(shard.groups.values()), 1):
                is_live = group.state is not GroupState.DEAD and shard.state is CoordinatorState.ACTIVE
                if is_live and not self.is_kept(group.group_id):
                    _sweep_group(shard, group, self._clock.now_ms(), retention_ms)
                if count % GROUPS_PER_STEP == 0:
                    await asyncio.sleep(0)

    def _topic_changed(self, change: TopicChange) -> None:
        self._shards.created(change.created)
        if change.deleted is not None:
            for shard in self:
                for group_id in {*shard.offsets, *shard.pending.group_ids}:
                    lost = shard.removals(group_id, change.deleted.name)
                    if lost:
                        shard.change_offsets(group_id, lost, _no_matter)

    def _forget_lost_topics(self, shard: Shard) -> None:
        """Offsets of topics that were deleted, or deleted and made again, while nobody was there to see it."""
        for group_id in {*shard.offsets, *shard.pending.group_ids}:
            offsets = shard.offsets.get(group_id)
            lost = []
            for stored in (*(() if offsets is None else offsets.stored()), *shard.pending.stored(group_id)):
                topic = self._topics.get(stored.topic)
                if topic is None or stored.committed.topic_id not in (NO_TOPIC_ID, topic.topic_id):
                    lost.append(OffsetChange(stored.topic, stored.partition, None))
            if lost and shard.state is CoordinatorState.ACTIVE:
                shard.change_offsets(group_id, lost, _no_matter)


def _sweep_group(shard: Shard, group: Group, now_ms: int, retention_ms: int) -> None:
    offsets = shard.offsets.get(group.group_id)
    expired = [] if offsets is None else offsets.expired(group, now_ms, retention_ms)
    expired = [each for each in expired if not shard.pending.is_pending(group.group_id, each.topic, each.partition)]
    if expired:
        log.info("group %s: %d offsets expired", group.group_id, len(expired))
        shard.change_offsets(group.group_id, expired, _no_matter)
    is_bare = (offsets is None or not offsets.latest) and not shard.pending.has_group(group.group_id)
    if group.state is GroupState.EMPTY and not group.pending and is_bare:
        shard.delete(group, _no_matter)


def _no_matter(code: ErrorCode) -> None:
    """Nobody waits for this; what was refused is tried again by the next sweep or start."""


def _deliver(delivery: Delivery) -> None:
    ticket = delivery.ticket
    assert isinstance(ticket, asyncio.Future)
    if not ticket.done():  # its client may have gone
        ticket.set_result(delivery.answer)
