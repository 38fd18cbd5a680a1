"""The subscriptions that have members, and what is left of those that had some: from the first member to the last."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from penstock.broker.broker import Broker
from penstock.broker.delivery.background import Background
from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.counters import Tally
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.position import Position, decode_position
from penstock.broker.delivery.core.refresh import Refresh, decode_ends
from penstock.broker.delivery.core.subscription import Core
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.locks import Locks
from penstock.broker.delivery.start_positions import missing_offset
from penstock.broker.delivery.surroundings import Surroundings
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.cluster.partition import Partition
from penstock.cluster.topics import Topic, TopicChange
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.values import Start, StartKind
from penstock.storage.metadata.subscriptions import SubscriptionRow

log = logging.getLogger(__name__)


class Lives:
    """By name. Whoever calls `bring` or `settle` holds the lock of the name."""

    def __init__(
        self,
        broker: Broker,
        definitions: Definitions,
        commits: Commits,
        surroundings: Surroundings,
        tally: Tally,
        locks: Locks,
    ) -> None:
        self._broker = broker
        self._definitions = definitions
        self._commits = commits
        self._surroundings = surroundings
        self._tally = tally
        self._locks = locks
        self._background = Background()
        self._live: dict[str, LiveSubscription] = {}
        self._ending: dict[str, LiveSubscription] = {}  # without members; their positions may not be stored yet

    def get(self, name: str) -> LiveSubscription | None:
        return self._live.get(name)

    def all(self) -> tuple[LiveSubscription, ...]:
        return tuple(self._live.values())

    def stop(self) -> None:
        self._background.cancel()
        self._commits.stop((*self._live.values(), *self._ending.values()))
        for live in self._live.values():
            live.stop()

    # --- from the first member to the last ---------------------------------------------------------------------------

    async def bring(self, row: SubscriptionRow) -> LiveSubscription:
        """That of a row, which comes to life if it has no members."""
        live = self._live.get(row.name)
        return await self._bring_to_life(row) if live is None else live

    async def _bring_to_life(self, row: SubscriptionRow) -> LiveSubscription:
        topic = self._definitions.topic(row.topic)
        partitions = [self._broker.partitions.get(row.topic, index) for index in range(topic.partition_count)]
        start = Start(StartKind(row.start_kind), row.start_value)
        await self._broker.groups.prepare()
        await self.settle(row.name)
        committed = self._broker.groups.committed(row.name).get(row.topic, {})
        core = self._core(row, partitions, committed)
        live = LiveSubscription(row.name, row.topic, core, self._surroundings)
        await self._broker.groups.hold(row.name, live)
        if self._broker.topics.get(row.topic) is None:
            self._broker.groups.release(row.name, live)
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {row.topic!r} was deleted")
        for partition in partitions:
            core.add_partition(partition.index, Position(missing_offset(partition, start)))
            live.watch(partition)
        self._live[row.name] = live
        return live

    def _core(
        self, row: SubscriptionRow, partitions: list[Partition], committed: Mapping[int, CommittedOffset]
    ) -> Core:
        refresh = None if row.refresh_ends is None else Refresh(row.refresh_id, decode_ends(row.refresh_ends))
        positions = {}
        for partition in partitions:
            found = committed.get(partition.index)
            if found is None:
                start = Start(StartKind(row.start_kind), row.start_value)
                position, refresh_id = Position(missing_offset(partition, start)), -1
            else:
                position, refresh_id = decode_position(found.offset, found.metadata)
            if refresh is not None and refresh_id != refresh.refresh_id:
                position = Position(partition.log_start)  # it was asked for, and that was all
            positions[partition.index] = position
        return Core(self._surroundings.rules, positions, by_key=row.by_key, refresh=refresh, tally=self._tally)

    def leave(self, live: LiveSubscription, member: Member) -> None:
        if live.leave(member) or self._live.get(live.name) is not live:
            return
        if live.core.state.dead:
            self._background.start(self._bury_and_end(live))
        else:
            self._end(live)

    async def _bury_and_end(self, live: LiveSubscription) -> None:
        """The last delivery of a message may have killed the last member. If it cannot be buried now, then by the
        next one's coming: how often it was delivered is stored.
        """
        async with self._locks.of(live.name):
            if self._is_deserted(live):
                await live.bury_dead()
            if self._is_deserted(live):
                self._end(live)

    def _is_deserted(self, live: LiveSubscription) -> bool:
        return not live.has_members and self._live.get(live.name) is live

    def evict(self, live: LiveSubscription, reason: str) -> None:
        """All members, and then it ends."""
        live.evict_all(reason)
        if self._live.get(live.name) is live:
            self._end(live)

    def _end(self, live: LiveSubscription) -> None:
        """The last member has gone."""
        del self._live[live.name]
        live.stop()
        self._broker.groups.release(live.name, live)
        if live.core.state.dirty or live.is_commit_under_way:
            self._ending[live.name] = live
            self._background.start(self._store_last(live))

    async def _store_last(self, live: LiveSubscription) -> None:
        try:
            await self._commits.now(live)
        except KafkaError:
            return  # it is tried again; whoever joins waits for it
        if self._ending.get(live.name) is live:
            del self._ending[live.name]

    async def settle(self, name: str) -> None:
        """Returns when everything that members who have left acknowledged is stored: nothing is written after it."""
        before = self._ending.get(name)
        if before is not None:
            await self._commits.now(before)
            if self._ending.get(name) is before:
                del self._ending[name]

    # --- topics ------------------------------------------------------------------------------------------------------

    def topic_changed(self, change: TopicChange) -> None:
        if change.deleted is not None:
            for live in [one for one in self._live.values() if one.topic == change.deleted.name]:
                live.core.state.dirty.clear()  # a topic of the same name has other offsets
                self.evict(live, f"topic {live.topic} was deleted")
        elif change.after is not None and change.before is not None:
            for live in self._live.values():
                if live.topic == change.after.name:
                    self._watch_new(live, change.after)

    def _watch_new(self, live: LiveSubscription, topic: Topic) -> None:
        for index in range(topic.partition_count):
            if not live.watches(index):
                try:
                    partition = self._broker.partitions.get(topic.name, index)
                except KafkaError as error:
                    log.error("%s-%d cannot be opened: %r", topic.name, index, error)
                    continue
                live.core.add_partition(index, Position(partition.log_start))
                live.watch(partition)
                live.wake()
