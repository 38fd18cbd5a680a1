"""The live subscriptions: those that have members, and those whose last positions are still being stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.loading import SubscriptionLoader, start_of
from penstock.broker.delivery.start_positions import missing_offset
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicChange
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.values import Start
from penstock.runtime.background import Background
from penstock.runtime.named_locks import NamedLocks
from penstock.runtime.turns import Steps, begin, finish
from penstock.storage.metadata.subscriptions import SubscriptionRow

logger = logging.getLogger(__name__)


class LiveSubscriptions:
    """Live subscriptions by name. Callers of `open` and `settle` hold the lock of the name."""

    def __init__(
        self,
        *,
        definitions: Definitions,
        partitions: PartitionTable,
        groups: GroupCoordinator,
        commits: Commits,
        locks: NamedLocks,
        loader: SubscriptionLoader,
        make_live: Callable[[Subscription], LiveSubscription],
    ) -> None:
        self._definitions = definitions
        self._partitions = partitions
        self._groups = groups
        self._commits = commits
        self._locks = locks
        self._loader = loader
        self._make_live = make_live
        self._background = Background()
        self._live: dict[str, LiveSubscription] = {}
        self._ending: dict[str, LiveSubscription] = {}  # without members; their positions are not stored yet

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

    async def open(self, row: SubscriptionRow) -> LiveSubscription:
        """The live subscription of a row, opened if it has no members yet."""
        live = self._live.get(row.name)
        return await self._open(row) if live is None else live

    async def _open(self, row: SubscriptionRow) -> LiveSubscription:
        topic = self._definitions.topic(row.topic)
        partitions = await finish(self._partitions.in_steps(topic.name, range(topic.partition_count)))
        await self._groups.prepare()
        await self.settle(row.name)
        committed = self._groups.committed(row.name).get(row.topic, {})
        live = self._make_live(await finish(self._loader.load(row, partitions, committed)))
        await self._groups.hold(row.name, live)
        try:
            await finish(_watch(live, partitions, start_of(row)))
            current = self._definitions.topic(row.topic)
            if current.topic_id != topic.topic_id:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {row.topic!r} was deleted")
        except BaseException:
            live.stop()
            self._groups.release(row.name, live)
            raise
        self._live[row.name] = live
        self._watch_new(live, current)
        return live

    def leave(self, live: LiveSubscription, member: Member) -> None:
        if live.leave(member) or self._live.get(live.name) is not live:
            return
        if live.dead_letter_count:
            self._background.start(self._store_dead_letters_and_end(live))
        else:
            self._end(live)

    async def _store_dead_letters_and_end(self, live: LiveSubscription) -> None:
        """Try once to store dead letters: the last delivery of a message may have killed the last member. If that
        fails, it is tried again when the next member has joined: the delivery counts are stored.
        """
        async with self._locks.of(live.name):
            if self._is_deserted(live):
                await live.store_dead_letters()
            if self._is_deserted(live):
                self._end(live)

    def _is_deserted(self, live: LiveSubscription) -> bool:
        return not live.has_members and self._live.get(live.name) is live

    def evict(self, live: LiveSubscription, reason: str) -> None:
        """Disconnect all members and end the live subscription."""
        live.evict_all(reason)
        if self._live.get(live.name) is live:
            self._end(live)

    def _end(self, live: LiveSubscription) -> None:
        """End a live subscription after its last member has left.

        The last positions are in the log before the group is released, so that they cannot replace an offset that a
        Kafka client commits afterwards. If they are refused, the group stays held until a retry succeeds.
        """
        del self._live[live.name]
        live.stop()
        if self._commits.write(live):
            self._groups.release(live.name, live)
        if not self._commits.is_settled(live):
            self._ending[live.name] = live
            self._background.start(self._store_last(live))

    async def _store_last(self, live: LiveSubscription) -> None:
        await self._commits.settled(live)
        self._ended(live)

    def _ended(self, live: LiveSubscription) -> None:
        """Nothing of the subscription is left to be stored. May be called again."""
        self._groups.release(live.name, live)
        if self._ending.get(live.name) is live:
            del self._ending[live.name]

    async def settle(self, name: str) -> None:
        """Wait until everything that members acknowledged before they left is stored: nothing is written after it.

        KafkaError if the last positions are refused.
        """
        before = self._ending.get(name)
        if before is not None:
            await self._commits.now(before)
            self._ended(before)

    def forget_last(self, name: str) -> None:
        """Drop refused last positions of a subscription without members: they do not count any more."""
        before = self._ending.get(name)
        if before is not None:
            before.forget_changes()
            if self._commits.is_settled(before):
                self._ended(before)

    # --- topics ------------------------------------------------------------------------------------------------------

    def topic_changed(self, change: TopicChange) -> None:
        if change.deleted is not None:
            for live in [one for one in self._live.values() if one.topic == change.deleted.name]:
                live.forget_changes()  # a topic of the same name has other offsets
                self.evict(live, f"topic {live.topic} was deleted")
            for live in [one for one in self._ending.values() if one.topic == change.deleted.name]:
                self.forget_last(live.name)
        elif change.after is not None and change.before is not None:
            for live in self._live.values():
                if live.topic == change.after.name:
                    self._watch_new(live, change.after)

    def _watch_new(self, live: LiveSubscription, topic: Topic) -> None:
        """Read the partitions that the topic has been given, at once if they are few."""
        watching = begin(self._watch_added(live, topic))
        if watching is not None:
            self._background.start(watching)

    def _watch_added(self, live: LiveSubscription, topic: Topic) -> Steps[None]:
        for index in range(topic.partition_count):
            if not live.watches(index):
                try:
                    partition = self._partitions.get(topic.name, index)
                    live.watch(partition, partition.log_start)
                except KafkaError as error:
                    logger.error("%s-%d cannot be opened: %r", topic.name, index, error)
            yield
            if self._live.get(live.name) is not live:
                return  # its last member has left, or the topic is gone


def _watch(live: LiveSubscription, partitions: Iterable[Partition], start: Start) -> Steps[None]:
    for partition in partitions:
        live.watch(partition, missing_offset(partition, start))
        yield
