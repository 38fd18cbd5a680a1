"""A subscription with members: its core, the logs it reads, and the connections it sends to.

Events (a flush, an answer, a member, time) ask the scheduler for a turn. A turn deals new messages to members with
room, a bounded amount at a time. Positions are stored by `commits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.dead_letter_topics import DeadLetterTopics
from penstock.broker.delivery.dead_letters import DeadLetters
from penstock.broker.delivery.described_members import describe_members
from penstock.broker.delivery.large_messages import LargeMessages
from penstock.broker.delivery.outgoing import Outgoing, Sink
from penstock.broker.delivery.redelivery_reader import RedeliveryReader
from penstock.broker.delivery.scheduler import Scheduler
from penstock.broker.delivery.topic_feed import TopicFeed
from penstock.broker.groups.description import MemberDescription
from penstock.broker.progress.position import Position
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.observability.timings import Timings
from penstock.protocol.push.data import AckRange
from penstock.protocol.push.messages import Reset, TopicEnds, encode
from penstock.runtime.clock import Clock


class RefreshListener(Protocol):
    """Stores the end of a refresh."""

    def finish_soon(self, live: LiveSubscription) -> None: ...


class LiveSubscription:
    """A subscription between its first member and its last."""

    def __init__(
        self,
        core: Subscription,
        *,
        clock: Clock,
        latency: Timings,
        scheduler: Scheduler,
        commits: Commits,
        refreshes: RefreshListener,
        dead_letter_topics: DeadLetterTopics,
        large: LargeMessages,
    ) -> None:
        self.name = core.name
        self.topic = core.topic
        self._core = core
        self._clock = clock
        self._commits = commits
        self._refreshes = refreshes
        self._turn = scheduler.turn(self.pump)
        wake = self._turn.request
        self._outgoing = Outgoing(core)
        self._sinks = self._outgoing.sinks
        self._feed = TopicFeed(core, self._outgoing, clock, latency, large, self._turn)
        self._redelivery = RedeliveryReader(core, self._feed, self._outgoing, large.unsent, clock, wake)
        self._dead_letters = DeadLetters(core, self._feed, dead_letter_topics, large, clock, wake)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_finishing = False  # the end of a refresh is being stored
        self._was_pumped = False

    # --- partitions --------------------------------------------------------------------------------------------------

    def watch(self, partition: Partition, start: int) -> None:
        """Read a further partition; from `start` on if the subscription has no position there."""
        self._core.add_partition(partition.index, Position(start))
        self._feed.watch(partition)
        self._turn.request()

    def watches(self, index: int) -> bool:
        return index in self._feed.partitions

    def stop(self) -> None:
        """End every activity. The remaining members have been disconnected."""
        self._sinks.clear()
        self._feed.stop()
        self._redelivery.stop()
        self._dead_letters.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._turn.cancel()

    def save_memory(self) -> None:
        """Drop what was read ahead if no turn was taken since the last call."""
        if self._was_pumped:
            self._was_pumped = False
        else:
            self._feed.save_memory()

    # --- members -----------------------------------------------------------------------------------------------------

    @property
    def has_members(self) -> bool:
        return bool(self._sinks)

    @property
    def member_count(self) -> int:
        return len(self._sinks)

    @property
    def in_flight(self) -> int:
        """Messages that members have not answered."""
        return self._core.in_flight

    def join(self, member: Member, sink: Sink) -> None:
        self._sinks[member] = sink
        self._core.join(member, self._clock.monotonic_ms())
        self._feed.joined()
        self._turn.request()

    def leave(self, member: Member) -> bool:
        """Remove a member. Returns whether others are left."""
        if self._sinks.pop(member, None) is not None:
            self._core.leave(member, self._clock.monotonic_ms())
            self._turn.request()
        return bool(self._sinks)

    def block(self, member: Member) -> None:
        """Send nothing more to a member whose connection is full."""
        member.is_blocked = True

    def unblock(self, member: Member) -> None:
        member.is_blocked = False
        self._core.dispatch.refill(member, self._clock.monotonic_ms())
        self._turn.request()

    def acknowledge(self, member: Member, ranges: Iterable[AckRange]) -> None:
        """Take a member's answers. KafkaError if one of the messages was never sent; then none of them counts."""
        try:
            self._core.acknowledge(member, ranges, self._clock.monotonic_ms())
        finally:
            self._turn.request()

    def evict_all(self, reason: str) -> None:
        for sink in tuple(self._sinks.values()):
            sink.evict(reason)

    def group_members(self) -> list[MemberDescription]:
        return describe_members(self._sinks, self.topic, self._feed.partitions)

    # --- positions ---------------------------------------------------------------------------------------------------

    @property
    def change_count(self) -> int:
        """Positions that may differ from those that were stored last."""
        return self._core.change_count

    def take_positions(self, most: int) -> Iterator[tuple[int, Position]]:
        return self._core.take_positions(most)

    def put_back(self, partitions: Iterable[int]) -> None:
        self._core.put_back(partitions)

    def forget_changes(self) -> None:
        """Drop changed positions instead of storing them: the topic is gone."""
        self._core.forget_changes()

    def set_position(self, partition: int, offset: int) -> None:
        """Declare everything below `offset` done; delivery goes on from there."""
        if self._core.refreshing.is_waiting:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "a refresh begins; commit after its RESET")
        self._core.set_position(partition, offset, self._clock.monotonic_ms())
        self._feed.moved(partition)

    # --- dead letters ------------------------------------------------------------------------------------------------

    @property
    def dead_letter_count(self) -> int:
        """Messages that wait for the dead-letter topic."""
        return len(self._core.exhausted)

    async def store_dead_letters(self) -> None:
        """Try once to store all dead letters."""
        await self._dead_letters.store()

    # --- refresh -----------------------------------------------------------------------------------------------------

    @property
    def refresh(self) -> Refresh | None:
        return self._core.refreshing.refresh

    @property
    def is_refresh_over(self) -> bool:
        return self._core.refreshing.is_over

    def begin_refresh(self, refresh: Refresh, starts: Mapping[int, int]) -> None:
        self._core.refreshing.begin(refresh, starts, self._clock.monotonic_ms())
        self._turn.request()

    def ready(self, member: Member, refresh_id: int) -> None:
        """Take a READY. KafkaError unless that refresh is under way and the member is done with it."""
        self._core.refreshing.ready(member, refresh_id)

    def finished_refresh(self) -> None:
        """Resume normal delivery: the end of the refresh is on disk."""
        self._is_finishing = False
        self._core.refreshing.finish()

    def _send_resets(self, refresh: Refresh) -> None:
        refreshing = self._core.refreshing
        for member, sink in self._sinks.items():
            if refreshing.needs_reset(member):
                refreshing.reset_sent(member)
                ends = tuple(sorted(refresh.ends.items()))
                sink.send(encode(Reset(self.name, refresh.refresh_id, (TopicEnds(self.topic, ends),))))

    # --- turns -------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Deal the messages that are ready. True if the turn ended before all were dealt."""
        if not self._sinks:
            return False
        core, now_ms = self._core, self._clock.monotonic_ms()
        refreshing = core.refreshing
        self._was_pumped = True
        core.tick(now_ms)
        for member in core.take_evicted():
            if member in self._sinks:
                self._sinks[member].evict("a refresh waits for messages that were not acknowledged in time")
        if refreshing.refresh is not None:
            self._send_resets(refreshing.refresh)
        self._redelivery.read(now_ms)
        # Redeliveries go first, or a member that takes over would get a partition's messages out of order.
        more = False if self._redelivery.is_reading else self._feed.deal(now_ms)
        if core.exhausted:
            self._dead_letters.begin(now_ms)
        if core.change_count:
            self._commits.soon(self)
        if refreshing.refresh is not None and refreshing.is_over and not self._is_finishing:
            self._is_finishing = True
            self._refreshes.finish_soon(self)
        self._set_timer()
        return more

    def _set_timer(self) -> None:
        due_ms = self._core.next_wake_ms()
        if due_ms is None or (self._timer is not None and self._timer_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due_ms
        delay = max(0, due_ms - self._clock.monotonic_ms()) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._time_came)

    def _time_came(self) -> None:
        self._timer = None
        self._turn.request()
