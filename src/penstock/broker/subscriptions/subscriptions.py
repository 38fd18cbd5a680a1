"""All subscriptions of a node: which exist (in meta.db), which have members, where each one is (a group's offsets).

A subscription's name is the name of its consumer group. While it has members it holds the group: Kafka members cannot
join, and the other way round.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine, Iterable
from typing import Any

from penstock.broker.broker import Broker
from penstock.broker.subscriptions.commits import Commits
from penstock.broker.subscriptions.core import Core, Rules, Tally
from penstock.broker.subscriptions.dead_letters import DeadLetters, dead_letter_topic
from penstock.broker.subscriptions.live import LiveSubscription, Sink, Surroundings
from penstock.broker.subscriptions.member import Member
from penstock.broker.subscriptions.position import Position, decode_position
from penstock.broker.subscriptions.pumps import Pumps
from penstock.broker.subscriptions.refresh import Refresh, decode_ends, encode_ends
from penstock.broker.subscriptions.starts import missing_offset, starting_offset
from penstock.cluster.topics import Topic, TopicChange
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TOPIC_NAME_LENGTH_MAX
from penstock.net.outbox import Outbox
from penstock.observability.timings import Timings
from penstock.protocol.push.values import Start, StartKind
from penstock.storage.metadata import MetadataStore
from penstock.storage.push_tables import SubscriptionRow

log = logging.getLogger(__name__)

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,200}")


class Subscriptions:
    """Between `load` and `stop`."""

    def __init__(self, broker: Broker, store: MetadataStore, outbox: Outbox) -> None:
        self._broker = broker
        self._store = store
        self._rows: dict[str, SubscriptionRow] = {}
        self._live: dict[str, LiveSubscription] = {}
        self._remembered: dict[str, Core] = {}  # without members, with delivery counts
        self._ending: dict[str, LiveSubscription] = {}  # without members; their positions may not be stored yet
        self._locks: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.tally = Tally()
        self.latency = Timings()
        settings = broker.settings.push
        self.commits = Commits(
            groups=broker.groups,
            topics=broker.topics,
            clock=broker.clock,
            interval_ms=settings.commit_interval_ms,
            refresh_id=lambda name: self._rows[name].refresh_id if name in self._rows else 0,
        )
        self._surroundings = Surroundings(
            rules=Rules(
                ack_timeout_ms=settings.ack_timeout_ms,
                redelivery_delay_ms=settings.redelivery_delay_ms,
                deliveries_max=settings.deliveries_max,
            ),
            clock=broker.clock,
            pumps=Pumps(asyncio.get_running_loop().call_soon, outbox.send),
            commit_soon=self.commits.soon,
            refreshed=self._refreshed,
            undertaker=DeadLetters(
                topics=broker.topics, partitions=broker.partitions, controller=broker.controller, clock=broker.clock
            ),
            latency=self.latency,
        )

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def member_count(self) -> int:
        return sum(len(live.core.members) for live in self._live.values())

    @property
    def in_flight(self) -> int:
        return sum(live.core.in_flight for live in self._live.values())

    def load(self) -> None:
        self._rows = {row.name: row for row in self._store.subscriptions()}
        self._broker.groups.shards.is_kept = self._rows.__contains__
        self._broker.topics.subscribe(self._topic_changed)

    def stop(self) -> None:
        self._broker.topics.unsubscribe(self._topic_changed)
        self.commits.stop((*self._live.values(), *self._ending.values()))
        for live in self._live.values():
            live.stop()
        for task in self._tasks:
            task.cancel()

    def pump(self) -> None:
        """At the end of a flush round: push what was committed by it."""
        self._surroundings.pumps.run_now()

    def save_memory(self) -> None:
        for live in tuple(self._live.values()):
            live.save_memory()

    def find(self, name: str) -> SubscriptionRow:
        row = self._rows.get(name)
        if row is None:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"there is no subscription {name!r}; create it with CREATE_SUBSCRIPTION"
            )
        return row

    def all(self) -> Iterable[SubscriptionRow]:
        return tuple(self._rows.values())

    def live(self, name: str) -> LiveSubscription | None:
        return self._live.get(name)

    # --- definitions -------------------------------------------------------------------------------------------------

    async def create(self, name: str, topic: str, start: Start, *, by_key: bool) -> bool:
        """False if it is there already. KafkaError if it cannot be made, or is another one."""
        async with self._lock(name):
            known = self._rows.get(name)
            if known is not None:
                if known.topic != topic:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST,
                        f"subscription {name!r} reads topic {known.topic!r}; choose another name, or delete it first",
                    )
                return False
            self._check(name, topic)
            group = self._broker.groups.find(name)
            if group is not None and group.holder is None and len(group.members):
                raise KafkaError(
                    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                    f"{name} is a consumer group with Kafka members; stop them, or choose another name",
                )
            await self._commit_starts(name, self._topic(topic), start)
            row = SubscriptionRow(name, topic, by_key, start.kind, start.value)
            await asyncio.to_thread(self._store.put_subscription, row)
            self._rows[name] = row
            return True

    def _check(self, name: str, topic: str) -> None:
        if not _NAME.fullmatch(name):
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                f"{name[:50]!r} is no name of a subscription; use 1 to 200 letters, digits, dots, dashes, underscores",
            )
        if len(dead_letter_topic(topic, name)) > TOPIC_NAME_LENGTH_MAX:
            raise KafkaError(
                ErrorCode.INVALID_GROUP_ID,
                f"topic and subscription together have more than {TOPIC_NAME_LENGTH_MAX - 6} characters; "
                "choose a shorter name",
            )
        if len(self._rows) >= self._broker.settings.push.subscriptions_max:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"{len(self._rows)} subscriptions are the most; delete some, or raise push.subscriptions_max",
            )
        if self._topic(topic).internal:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is internal")

    def _topic(self, name: str) -> Topic:
        topic = self._broker.topics.get(name)
        if topic is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}; create it with CREATE_TOPIC"
            )
        return topic

    async def _commit_starts(self, name: str, topic: Topic, start: Start) -> None:
        """Positions where there are none: what a group of this name has done already stays done."""
        await self._broker.groups.prepare()
        committed = self._broker.groups.committed(name).get(topic.name, {})
        positions = {}
        for index in range(topic.partition_count):
            if index not in committed:
                partition = self._broker.partitions.get(topic.name, index)
                positions[index] = Position(await starting_offset(partition, start, self._broker.record_worker))
        done: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        changes = self.commits.changes(name, topic.name, positions)
        if changes:
            self._broker.groups.commit_held(name, changes, done.set_result)
            code = await done
            if code is not ErrorCode.NONE:
                raise KafkaError(code, "the position could not be stored")

    async def delete(self, name: str) -> None:
        """The subscription, its group and its positions; members are disconnected from it."""
        async with self._lock(name):
            self.find(name)
            live = self._live.get(name)
            if live is not None:
                live.evict_all(f"subscription {name} was deleted")
                self._end(live)
            before = self._ending.pop(name, None)
            if before is not None:  # nothing of it may be written after its end
                await self.commits.now(before)
            await asyncio.to_thread(self._store.delete_subscription, name)
            self._rows.pop(name, None)
            self._remembered.pop(name, None)
            try:
                await self._broker.groups.delete_group(name)
            except KafkaError as error:
                if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                    raise

    async def settled(self, name: str) -> None:
        """Returns when everything that members who have left acknowledged is stored: nothing is written after it."""
        async with self._lock(name):
            before = self._ending.pop(name, None)
            if before is not None:
                await self.commits.now(before)

    # --- members -----------------------------------------------------------------------------------------------------

    async def join(self, name: str, member: Member, sink: Sink) -> LiveSubscription:
        """KafkaError if there is no such subscription or topic, or Kafka members have the group."""
        async with self._lock(name):
            row = self.find(name)
            live = self._live.get(name)
            if live is None:
                live = await self._bring_to_life(row)
            live.join(member, sink)
            return live

    async def _bring_to_life(self, row: SubscriptionRow) -> LiveSubscription:
        topic = self._topic(row.topic)
        partitions = [self._broker.partitions.get(row.topic, index) for index in range(topic.partition_count)]
        refresh = None if row.refresh_ends is None else Refresh(row.refresh_id, decode_ends(row.refresh_ends))
        start = Start(StartKind(row.start_kind), row.start_value)
        await self._broker.groups.prepare()
        before = self._ending.pop(row.name, None)
        if before is not None:
            await self.commits.now(before)
        core = self._remembered.pop(row.name, None)
        committed = self._broker.groups.committed(row.name).get(row.topic, {})
        stale = core is None or any(
            index not in committed or committed[index].offset != progress.committed
            for index, progress in core.progress.items()
        )
        if core is None or stale or refresh != core.refresh:
            positions = {}
            for partition in partitions:
                found = committed.get(partition.index)
                position, refresh_id = (
                    (Position(missing_offset(partition, start)), -1)
                    if found is None
                    else decode_position(found.offset, found.metadata)
                )
                if refresh is not None and refresh_id != refresh.refresh_id:
                    position = Position(partition.log_start)  # it was asked for, and that was all
                positions[partition.index] = position
            core = Core(self._surroundings.rules, positions, by_key=row.by_key, refresh=refresh, tally=self.tally)
        live = LiveSubscription(row.name, row.topic, core, self._surroundings)
        await self._broker.groups.hold(row.name, live)
        if self._broker.topics.get(row.topic) is not topic and self._broker.topics.get(row.topic) is None:
            self._broker.groups.release(row.name, live)
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {row.topic!r} was deleted")
        for partition in partitions:
            core.add_partition(partition.index, Position(missing_offset(partition, start)))
            live.watch(partition)
        self._live[row.name] = live
        return live

    def leave(self, live: LiveSubscription, member: Member) -> None:
        if live.leave(member) or self._live.get(live.name) is not live:
            return
        self._end(live)

    def _end(self, live: LiveSubscription) -> None:
        """The last member has gone."""
        del self._live[live.name]
        live.stop()
        self._broker.groups.release(live.name, live)
        if live.core.dirty or live.is_commit_under_way:
            self._ending[live.name] = live
            self.commits.soon(live)
        if live.core.remembers and live.name in self._rows:
            self._remembered[live.name] = live.core

    # --- topics ------------------------------------------------------------------------------------------------------

    def _topic_changed(self, change: TopicChange) -> None:
        if change.deleted is not None:
            for live in [one for one in self._live.values() if one.topic == change.deleted.name]:
                live.core.dirty.clear()  # a topic of the same name has other offsets
                live.evict_all(f"topic {live.topic} was deleted")
                if self._live.get(live.name) is live:
                    self._end(live)
                self._remembered.pop(live.name, None)
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

    # --- refresh -----------------------------------------------------------------------------------------------------

    async def reset(self, name: str) -> Refresh:
        """Begin a refresh: durable when this returns; members are told when nothing of before is in flight."""
        async with self._lock(name):
            row = self.find(name)
            topic = self._topic(row.topic)
            partitions = [self._broker.partitions.get(row.topic, index) for index in range(topic.partition_count)]
            ends = {partition.index: partition.last_stable for partition in partitions}
            refresh = Refresh(row.refresh_id + 1, ends)
            changed = row._replace(refresh_id=refresh.refresh_id, refresh_ends=encode_ends(ends))
            await asyncio.to_thread(self._store.put_subscription, changed)
            self._rows[name] = changed
            self._remembered.pop(name, None)
            live = self._live.get(name)
            if live is not None:
                starts = {partition.index: partition.log_start for partition in partitions}
                live.core.begin_refresh(refresh, starts, live.now_ms)
                live.wake()
            log.info("refresh %d of subscription %s", refresh.refresh_id, name)
            return refresh

    async def ready(self, live: LiveSubscription, member: Member, refresh_id: int) -> None:
        """Durable when this returns: everything below the ends is done, and if all are ready the refresh is over."""
        row = self.find(live.name)
        if row.refresh_id == refresh_id and row.refresh_ends is None:
            return  # it is over; the answer to an earlier READY was lost
        live.core.ready(member, refresh_id)
        await self.commits.now(live)
        if live.core.is_refreshed:
            await self._finish_refresh(live)

    def _refreshed(self, live: LiveSubscription) -> None:
        """The last of several members has done its part."""
        self._start(self._finish_refresh(live))

    async def _finish_refresh(self, live: LiveSubscription) -> None:
        await self.commits.now(live)
        async with self._lock(live.name):
            row, refresh = self._rows.get(live.name), live.core.refresh
            if row is None or refresh is None or row.refresh_id != refresh.refresh_id:
                return
            changed = row._replace(refresh_ends=None)
            await asyncio.to_thread(self._store.put_subscription, changed)
            self._rows[live.name] = changed
            live.finished_refresh()
            log.info("refresh %d of subscription %s is over", refresh.refresh_id, live.name)

    # --- internals ---------------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _lock(self, name: str) -> asyncio.Lock:
        """One change of a subscription at a time. Those of names that nobody uses are thrown away."""
        if len(self._locks) > 2 * len(self._rows) + 1000:
            self._locks = {key: lock for key, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(name, asyncio.Lock())
