"""All shards of the node: which one a group lives in, their life, and the clock of their groups.

Everything runs on the event loop. While a shard is being loaded requests for its groups are answered
COORDINATOR_LOAD_IN_PROGRESS, and if it has failed COORDINATOR_NOT_AVAILABLE (a KafkaError in both cases). The topic is
made when the first group appears.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Final

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.coordination.coordinator_shards import CoordinatorShards
from penstock.broker.groups.effects import Now, Reply
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupState, GroupType
from penstock.broker.groups.kinds import group_factories
from penstock.broker.groups.log.expiry import OffsetExpiry
from penstock.broker.groups.log.loading import load
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.log.timers import GroupTimer
from penstock.broker.groups.memory import GROUP_BYTES, GroupMemory, kept_bytes
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import GroupSettings
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_ID_BYTES_MAX
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.model.topic_partition import TopicPartition
from penstock.observability.repeats import NAME_LENGTH_MAX, Repeats
from penstock.runtime.clock import Clock
from penstock.runtime.turns import finish

logger = logging.getLogger(__name__)

LINES_OF_GROUP_MAX: Final = 20
"""Lines a minute about the members of a group, which come and go as they like,"""
LINES_MAX: Final = 1_000
"""and about those of all groups, whose names are the clients', too."""


class Shards:
    """The groups of the node, by the partition of `__consumer_offsets` that holds them."""

    def __init__(
        self,
        *,
        settings: GroupSettings,
        memory: GroupMemory,
        partitions: PartitionTable,
        topics: TopicTable,
        controller: Controller,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._topics = topics
        self._clock = clock
        self._memory = memory
        self._lines = Repeats(logger, lines_max=LINES_OF_GROUP_MAX, total_max=LINES_MAX)
        self._factories = group_factories(settings, memory)
        self._shards = CoordinatorShards(CONSUMER_OFFSETS, partitions, topics, controller, self._new_shard)
        self.timer = GroupTimer(clock, self._wake)
        self.expiry = OffsetExpiry(self, topics, settings, clock)

    def __iter__(self) -> Iterator[Shard]:
        """The shards that can be asked."""
        return iter(self._shards)

    def now(self) -> Now:
        return Now(self._clock.monotonic_ms(), self._clock.now_ms())

    # --- life --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to serve. Loading goes on in the background; `loaded` waits for it."""
        self.timer.start()
        self._topics.subscribe(self.expiry.topic_changed)
        self._shards.start("groups", self._load, self.expiry.run)

    async def loaded(self) -> None:
        await self._shards.loaded()

    async def stop(self) -> None:
        self._topics.unsubscribe(self.expiry.topic_changed)
        self.expiry.stop()
        await self._shards.stop()
        self.timer.stop()
        for shard in self._shards.present():
            shard.forget_all()
            shard.state = CoordinatorState.FAILED

    def _new_shard(self, partition: Partition) -> Shard:
        return Shard(partition, now=self.now, deliver=_deliver, changed=self.timer.note, lines=self._lines)

    async def _load(self) -> None:
        for shard in self._shards.loading():
            await load(shard, self._factories, self.now())
            for group in tuple(shard.groups.values()):
                shard.apply(group, group.loaded(self.now()))
            await finish(self.expiry.forget_lost_topics(shard))

    def _wake(self, group: CoordinatedGroup) -> None:
        shard = self._shards.place(group.group_id)
        if group.state is GroupState.DEAD or shard is None:
            return
        try:
            shard.apply(group, group.advance(self.now()))
        except Exception:  # a bug in one group must not stop the clocks of all others
            logger.exception("group %s could not go on", group.group_id[:NAME_LENGTH_MAX])

    # --- finding groups ----------------------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Make sure that the topic of the groups exists. Raises KafkaError if it cannot be made."""
        await self._shards.prepare()

    async def to_write(self, group_id: str) -> Shard:
        """The shard of a group that may be new."""
        await self.prepare()
        return self.writable(group_id)

    def writable(self, group_id: str) -> Shard:
        """The same once the topic exists. COORDINATOR_NOT_AVAILABLE also while the group is being deleted."""
        shard = self.shard(group_id)
        if shard is None or shard.is_being_deleted(group_id):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return shard

    def find(self, group_id: str) -> tuple[Shard, CoordinatedGroup] | None:
        shard = self.shard(group_id)
        group = None if shard is None else shard.groups.get(group_id)
        return None if shard is None or group is None else (shard, group)

    def shard(self, group_id: str) -> Shard | None:
        """The shard of a group; None until the first group has made the topic."""
        return self._shards.holder(group_id)

    async def place_of(self, group_id: str) -> TopicPartition:
        """The partition that a transaction must include to commit offsets of this group."""
        shard = await self.to_write(group_id)
        return TopicPartition(CONSUMER_OFFSETS, shard.partition.index)

    def end_transaction(self, partition: int, marker: Marker) -> None:
        """Apply a transaction marker that is on disk in one of the partitions."""
        shard = self._shards.all[partition] if partition < len(self._shards.all) else None
        if shard is None:
            return
        if shard.state is CoordinatorState.LOADING:
            shard.ended_meanwhile.append(marker)
        elif shard.state is CoordinatorState.ACTIVE:
            shard.offsets.end_pending(marker)

    def check_loaded(self) -> None:
        """Raise as long as there may be groups that are not known yet."""
        if self._shards.is_loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def create(
        self, shard: Shard, group_id: str, group_type: GroupType = GroupType.CLASSIC, *, member_bytes: int = 0
    ) -> CoordinatedGroup:
        """A new, empty group; it is stored with its first record or offset.

        None is made for a first member for whose bytes there is no room: a refusal should leave nothing behind.
        """
        if self.group_count >= self._settings.groups_max:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"{self.group_count} groups are the most")
        if len(group_id.encode()) > GROUP_ID_BYTES_MAX:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        self._memory.check(GROUP_BYTES + kept_bytes(group_id) + member_bytes)
        group = shard.groups[group_id] = self._factories[group_type](group_id, self.now())
        return group

    @property
    def group_count(self) -> int:
        return sum(len(shard.groups) for shard in self._shards.present())


def _deliver(reply: Reply) -> None:
    ticket = reply.ticket
    assert isinstance(ticket, asyncio.Future)
    if not ticket.done():  # the client may have gone
        ticket.set_result(reply.answer)
