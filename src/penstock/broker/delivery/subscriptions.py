"""All subscriptions of a node: which exist (in meta.db), which have members, where each one is (a group's offsets).

A subscription's name is the name of its consumer group. While it has members it holds the group: Kafka members cannot
join, and the other way round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from penstock.broker.broker import Broker
from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.counters import Tally
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.dead_letter_topics import DeadLetters, dead_letter_topic
from penstock.broker.delivery.definitions import Definitions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.locks import Locks
from penstock.broker.delivery.refresh_service import Refreshes
from penstock.broker.delivery.registry import Lives
from penstock.broker.delivery.scheduler import Pumps
from penstock.broker.delivery.start_positions import commit_starts
from penstock.broker.delivery.surroundings import Sink, Surroundings
from penstock.broker.groups.held import check_hold
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.outbox import Outbox
from penstock.observability.timings import Timings
from penstock.protocol.push.values import Start
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.subscriptions import SubscriptionRow


class Subscriptions:
    """Between `load` and `stop`."""

    def __init__(self, broker: Broker, store: MetadataStore, outbox: Outbox) -> None:
        self._broker = broker
        self.tally = Tally()
        self.latency = Timings()
        settings = broker.settings.push
        self._locks = Locks()
        self._definitions = Definitions(store.subscriptions, broker.topics, settings.subscriptions_max)
        self.commits = Commits(
            groups=broker.groups,
            topics=broker.topics,
            clock=broker.clock,
            interval_ms=settings.commit_interval_ms,
            refresh_id=self._definitions.refresh_id,
        )
        self._pumps = Pumps(asyncio.get_running_loop().call_soon, outbox.send)
        self._dead_letters = DeadLetters(
            topics=broker.topics, partitions=broker.partitions, controller=broker.controller, clock=broker.clock
        )
        surroundings = Surroundings(
            rules=Rules(
                ack_timeout_ms=settings.ack_timeout_ms,
                redelivery_delay_ms=settings.redelivery_delay_ms,
                deliveries_max=settings.deliveries_max,
            ),
            clock=broker.clock,
            pumps=self._pumps,
            commit_soon=self.commits.soon,
            refreshed=lambda live: self._refreshes.finish_soon(live),
            undertaker=self._dead_letters,
            latency=self.latency,
        )
        self._lives = Lives(broker, self._definitions, self.commits, surroundings, self.tally, self._locks)
        self._refreshes = Refreshes(broker, self._definitions, self._lives, self.commits, self._locks)

    def __len__(self) -> int:
        return len(self._definitions)

    @property
    def member_count(self) -> int:
        return sum(len(live.core.members) for live in self._lives.all())

    @property
    def in_flight(self) -> int:
        return sum(live.core.in_flight for live in self._lives.all())

    @property
    def dead_waiting(self) -> int:
        """Messages that are not in their dead-letter topic yet."""
        return sum(len(live.core.state.dead) for live in self._lives.all())

    def load(self) -> None:
        self._definitions.load()
        self._broker.groups.keep_offsets(self._definitions.__contains__)
        self._broker.topics.subscribe(self._lives.topic_changed)

    def stop(self) -> None:
        self._broker.topics.unsubscribe(self._lives.topic_changed)
        self._lives.stop()
        self._refreshes.stop()

    def pump(self) -> None:
        """At the end of a flush round: push what was committed by it."""
        self._pumps.run_now()

    def save_memory(self) -> None:
        for live in self._lives.all():
            live.save_memory()

    def find(self, name: str) -> SubscriptionRow:
        """KafkaError if there is none."""
        return self._definitions.find(name)

    def all(self) -> Iterable[SubscriptionRow]:
        return self._definitions.all()

    def live(self, name: str) -> LiveSubscription | None:
        return self._lives.get(name)

    def configs_of_dead_letters(self, topic: str) -> Sequence[tuple[str, str | None]]:
        """What a topic needs to be the dead-letter topic of a subscription; nothing if it is none."""
        for row in self._definitions.all():
            if dead_letter_topic(row.topic, row.name) == topic and row.topic in self._broker.topics:
                return self._dead_letters.configs(row.topic)
        return ()

    # --- definitions -------------------------------------------------------------------------------------------------

    async def create(self, name: str, topic: str, start: Start, *, by_key: bool) -> bool:
        """False if it is there already. KafkaError if it cannot be made, or is another one."""
        async with self._locks.of(name):
            if self._definitions.is_known(name, topic):
                return False
            group = self._broker.groups.find(name)
            if group is not None:
                check_hold(group)
            await commit_starts(self._broker, self.commits, name, self._definitions.topic(topic), start)
            await self._definitions.put(SubscriptionRow(name, topic, by_key, start.kind, start.value))
            return True

    async def delete(self, name: str) -> None:
        """The subscription, its group and its positions; members are disconnected from it."""
        async with self._locks.of(name):
            self._definitions.find(name)
            live = self._lives.get(name)
            if live is not None:
                self._lives.evict(live, f"subscription {name} was deleted")
            await self._lives.settle(name)  # nothing of it may be written after its end
            await self._definitions.remove(name)
            try:
                await self._broker.groups.delete_group(name)
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise

    async def settled(self, name: str) -> None:
        """Returns when everything that members who have left acknowledged is stored: nothing is written after it."""
        async with self._locks.of(name):
            await self._lives.settle(name)

    # --- members -----------------------------------------------------------------------------------------------------

    async def join(self, name: str, member: Member, sink: Sink) -> LiveSubscription:
        """KafkaError if there is no such subscription or topic, or Kafka members have the group."""
        async with self._locks.of(name):
            live = await self._lives.bring(self._definitions.find(name))
            live.join(member, sink)
            return live

    def leave(self, live: LiveSubscription, member: Member) -> None:
        self._lives.leave(live, member)

    async def commit_offset(self, live: LiveSubscription, partition: int, offset: int) -> None:
        """Set the position by hand; durable when this returns. KafkaError while a refresh begins."""
        live.set_position(partition, offset)
        await self.commits.now(live)

    # --- refresh -----------------------------------------------------------------------------------------------------

    async def reset(self, name: str) -> Refresh:
        """Begin a refresh: durable when this returns; members are told when nothing of before is in flight."""
        return await self._refreshes.begin(name)

    async def ready(self, live: LiveSubscription, member: Member, refresh_id: int) -> None:
        """Durable when this returns: everything below the ends is done, and if all are ready the refresh is over."""
        await self._refreshes.ready(live, member, refresh_id)
