"""Subscriptions over a group coordinator in a small world, where a commit is under way until the test flushes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.broker.delivery.context import DeliveryContext
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.worker import RecordWorker
from penstock.config.settings import PushSettings
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.net.flow_control import FlowControl
from penstock.net.outbox import Outbox
from penstock.observability.metrics import BrokerMetrics
from penstock.protocol.push.data import AckRange
from penstock.protocol.push.values import Start
from tests.support.group_requests import log_of
from tests.support.group_world import HandLog, World

TOPIC, NAME = "t", "sub"
HELD_BYTES_MAX = 1 << 20
WAIT_SECONDS = 10.0


class Connection:
    """The connection of a member that counts what it is sent."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.evicted: list[str] = []

    def send(self, data: bytes) -> None:
        self.frames.append(data)

    def evict(self, reason: str) -> None:
        self.evicted.append(reason)


class DeliveryWorld:
    """One topic with a partition or more, and one subscription to it."""

    def __init__(self, partitions: int = 1, *, by_key: bool = False, **settings: Any) -> None:
        self._partitions = partitions
        self._by_key = by_key
        self._settings = settings
        self.world = World()
        self.flow = FlowControl(HELD_BYTES_MAX)
        self.log: HandLog  # the partition of __consumer_offsets with the positions
        self.member = Member("m-0")
        self._is_stopped = False

    async def __aenter__(self) -> DeliveryWorld:
        world = self.world
        await world.__aenter__()
        await world.create_topic(TOPIC, self._partitions)
        context = DeliveryContext(
            settings=PushSettings(commit_interval_ms=0, **self._settings),
            clock=world.clock,
            definitions=world.store.subscriptions,
            topics=world.topics,
            partitions=world.partitions,
            groups=world.groups,
            worker=RecordWorker(),
            frontend=world.controller.topics,
            appender=RecordAppender(world.topics, BrokerMetrics()),
            flow=self.flow,
        )
        self.subscriptions = Subscriptions(context, Outbox(asyncio.get_running_loop().call_soon))
        self.subscriptions.load()
        await world.groups.prepare()
        await self.create()
        self.log = log_of(world, NAME)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        await self.world.__aexit__()

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self.subscriptions.stop()

    async def create(self) -> None:
        await self.subscriptions.create(NAME, TOPIC, Start(), by_key=self._by_key, owner="")

    async def delete_topic(self) -> None:
        topic = self.world.topics.get(TOPIC)
        assert topic is not None
        await self.world.controller.topics.delete([topic.topic_id])

    async def grow(self, partitions: int) -> None:
        await self.world.controller.topics.create_partitions(TOPIC, partitions)

    def publish(self, count: int, partition: int = 0) -> None:
        batch = build_batch([NewRecord(None, b"x")] * count, timestamp=self.world.clock.now_ms())
        self.world.partitions.get(TOPIC, partition).append(batch, read_header(batch), self.world.clock.now_ms())

    async def join(self, credit: int = 100) -> LiveSubscription:
        self.member = Member(f"{self.member.member_id}+", credit=credit)
        return await self.subscriptions.join(NAME, self.member, Connection())

    def leave(self, live: LiveSubscription) -> None:
        self.subscriptions.leave(live, self.member)

    def done(self, live: LiveSubscription, first: int, last: int, partition: int = 0) -> None:
        live.acknowledge(self.member, [AckRange(partition, first, last)])

    async def with_a_commit_under_way(self) -> LiveSubscription:
        """A subscription whose position 1 is being stored and whose position 3 is not written yet, of 4 messages."""
        self.publish(4)
        live = await self.join()
        await until(lambda: live.in_flight == 4)
        self.log.flushes_at_once = False
        end = self.log.log_end
        self.done(live, 0, 0)
        await until(lambda: self.log.log_end > end)
        self.done(live, 1, 2)
        return live

    @property
    def offset(self) -> int | None:
        """The committed offset that clients see."""
        found = self.world.groups.committed(NAME).get(TOPIC, {}).get(0)
        return None if found is None else found.offset

    def group(self) -> Any:
        return self.world.groups.find(NAME)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, with a deadline."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110  a state of several parts, not an event
            await asyncio.sleep(0.001)
