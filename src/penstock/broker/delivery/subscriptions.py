"""All subscriptions of a node: their definitions (in meta.db), their members, and their positions (a group's offsets).

A subscription's name is the name of its consumer group. While it has members it holds the group: Kafka members cannot
join. While the group has Kafka members, push members cannot join.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.context import DeliveryContext
from penstock.broker.delivery.core.counters import DeliveryCounters
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.dead_letter_topics import DeadLetterTopics, dead_letter_topic
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.large_messages import LargeMessages
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.live_subscriptions import LiveSubscriptions
from penstock.broker.delivery.loading import SubscriptionLoader
from penstock.broker.delivery.outgoing import Sink
from penstock.broker.delivery.refresh_service import RefreshService
from penstock.broker.delivery.scheduler import Scheduler
from penstock.broker.delivery.start_positions import StartPositions
from penstock.broker.groups.held import check_hold
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.outbox import Outbox
from penstock.observability.timings import Timings
from penstock.protocol.push.values import Start
from penstock.runtime.named_locks import NamedLocks
from penstock.storage.metadata.subscriptions import SubscriptionRow


class Subscriptions:
    """The use cases of the push door, and the composition of their parts. Between `load` and `stop`."""

    def __init__(self, context: DeliveryContext, outbox: Outbox) -> None:
        settings, clock = context.settings, context.clock
        groups, topics, partitions = context.groups, context.topics, context.partitions
        self._groups = groups
        self._topics = topics
        self.counters = DeliveryCounters()
        self.latency = Timings()
        self._locks = NamedLocks()
        self._definitions = Definitions(context.definitions, topics, settings.subscriptions_max)
        self._commits = Commits(
            groups=groups,
            topics=topics,
            clock=clock,
            interval_ms=settings.commit_interval_ms,
            refresh_id=self._definitions.refresh_id,
        )
        self._starts = StartPositions(groups, partitions, context.worker, self._commits)
        self._refreshes = RefreshService(self._definitions, partitions, self._commits, self._locks)
        self.outbox = outbox
        """Sends the frames of a turn together; connections put themselves into it."""
        self._scheduler = Scheduler(asyncio.get_running_loop().call_soon, outbox.send)
        self.end_round = self._scheduler.end_round
        """Push the messages that a flush round has committed, and send all answers that are ready."""
        self._dead_letter_topics = DeadLetterTopics(
            topics=topics,
            partitions=partitions,
            frontend=context.frontend,
            appender=context.appender,
            clock=clock,
        )
        self._large = LargeMessages(settings.frame_bytes_max, context.flow)
        self.unsent = self._large.unsent
        rules = Rules(
            ack_timeout_ms=settings.ack_timeout_ms,
            redelivery_delay_ms=settings.redelivery_delay_ms,
            deliveries_max=settings.deliveries_max,
        )
        self._live = LiveSubscriptions(
            definitions=self._definitions,
            partitions=partitions,
            groups=groups,
            commits=self._commits,
            locks=self._locks,
            loader=SubscriptionLoader(rules, self.counters),
            make_live=partial(
                LiveSubscription,
                clock=clock,
                latency=self.latency,
                scheduler=self._scheduler,
                commits=self._commits,
                refreshes=self._refreshes,
                dead_letter_topics=self._dead_letter_topics,
                large=self._large,
            ),
        )

    def __len__(self) -> int:
        return len(self._definitions)

    def is_known(self, name: str) -> bool:
        return name in self._definitions

    @property
    def member_count(self) -> int:
        return sum(live.member_count for live in self._live.all())

    @property
    def in_flight(self) -> int:
        return sum(live.in_flight for live in self._live.all())

    @property
    def dead_letter_count(self) -> int:
        """Messages that are not in their dead-letter topic yet."""
        return sum(live.dead_letter_count for live in self._live.all())

    def load(self) -> None:
        self._definitions.load()
        self._groups.keep_offsets(self._definitions.__contains__)
        self._topics.subscribe(self._live.topic_changed)

    def stop(self) -> None:
        self._topics.unsubscribe(self._live.topic_changed)
        self._live.stop()
        self._refreshes.stop()
        self._large.unpacking.close()

    def save_memory(self) -> None:
        for live in self._live.all():
            live.save_memory()

    def find(self, name: str) -> SubscriptionRow:
        """The definition of a subscription. KafkaError if there is none."""
        return self._definitions.find(name)

    def all(self) -> Iterable[SubscriptionRow]:
        return self._definitions.all()

    def live(self, name: str) -> LiveSubscription | None:
        return self._live.get(name)

    def configs_of_dead_letters(self, topic: str) -> Sequence[tuple[str, str | None]]:
        """Configs that a topic needs as the dead-letter topic of a subscription; none if it is not one."""
        for row in self._definitions.all():
            if dead_letter_topic(row.topic, row.name) == topic and row.topic in self._topics:
                return self._dead_letter_topics.configs(row.topic)
        return ()

    # --- definitions -------------------------------------------------------------------------------------------------

    async def create(self, name: str, topic: str, start: Start, *, by_key: bool, owner: str) -> bool:
        """Create a subscription; False if it exists. KafkaError if it cannot be made, or exists with another topic.

        `owner` is who asks.
        """
        async with self._locks.of(name):
            if self._definitions.is_known(name, topic):
                return False
            group = self._groups.find(name)
            if group is not None:
                check_hold(group)
            await self._starts.commit(name, self._definitions.topic(topic), start, owner)
            await self._definitions.put(SubscriptionRow(name, topic, by_key, start.kind, start.value))
            return True

    async def delete(self, name: str) -> None:
        """Delete the subscription, its group and its positions; members are disconnected from it."""
        async with self._locks.of(name):
            self._definitions.find(name)
            live = self._live.get(name)
            if live is not None:
                self._live.evict(live, f"subscription {name} was deleted")
            await self._live.settle(name)  # no position may be written after the deletion
            await self._definitions.remove(name)
            try:
                await self._groups.delete_group(name)
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise

    async def settled(self, name: str) -> None:
        """Wait until everything that members acknowledged before they left is stored: nothing is written after it."""
        async with self._locks.of(name):
            await self._live.settle(name)

    # --- members -----------------------------------------------------------------------------------------------------

    async def join(self, name: str, member: Member, sink: Sink) -> LiveSubscription:
        """Add a member. KafkaError if there is no such subscription or topic, or Kafka members use the group."""
        async with self._locks.of(name):
            live = await self._live.open(self._definitions.find(name))
            live.join(member, sink)
            return live

    def leave(self, live: LiveSubscription, member: Member) -> None:
        self._live.leave(live, member)

    async def commit_offset(self, live: LiveSubscription, partition: int, offset: int) -> None:
        """Set the position by hand; durable when this returns. KafkaError while a refresh begins."""
        live.set_position(partition, offset)
        await self._commits.now(live)

    # --- refresh -----------------------------------------------------------------------------------------------------

    async def reset(self, name: str) -> Refresh:
        """Begin a refresh; durable when this returns. Members get RESET once no earlier message is in flight."""
        async with self._locks.of(name):
            refresh, starts = await self._refreshes.begin(name)
            live = self._live.get(name)
            if live is not None:
                live.begin_refresh(refresh, starts)
            else:
                self._live.forget_last(name)  # a retry would store them as positions of the refresh
            return refresh

    async def reset_topics(self, topics: Collection[str]) -> None:
        """Begin a refresh of every subscription to one of the topics."""
        for row in tuple(self._definitions.all()):
            if row.topic in topics:
                await self.reset(row.name)

    async def ready(self, live: LiveSubscription, member: Member, refresh_id: int) -> None:
        """Take a READY. Durable when this returns: everything below the ends is done, and if all members are ready the
        refresh is over.
        """
        await self._refreshes.ready(live, member, refresh_id)
