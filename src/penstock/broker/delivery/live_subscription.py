"""A subscription with members: its core, the logs it reads, and the connections it sends to.

Events (a flush, an answer, a member, time) put it into the queue of `pumps`; a pump deals what there is to those who
have room, a bounded amount at a time. Positions are stored by `commits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.subscription import Core
from penstock.broker.delivery.dead_letters import Burials
from penstock.broker.delivery.described import described
from penstock.broker.delivery.desk import Desk
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.redelivery_reader import Again
from penstock.broker.delivery.surroundings import Sink, Surroundings
from penstock.broker.delivery.topic_feed import Supply
from penstock.broker.groups.description import MemberDescription
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import AckRange
from penstock.protocol.push.messages import Reset, TopicEnds, encode


class LiveSubscription:
    """Between the first member and the last."""

    def __init__(self, name: str, topic: str, core: Core, surroundings: Surroundings) -> None:
        self.name = name
        self.topic = topic
        self.core = core
        self.is_pump_due = False
        self.is_commit_under_way = False
        self._state = core.state
        self._surroundings = surroundings
        self._desk = Desk(name, topic, core, surroundings, self.wake)
        self._outgoing = Outgoing(self._desk)
        self._sinks = self._outgoing.sinks
        self._supply = Supply(self._desk, self._outgoing)
        self._again = Again(self._desk, self._supply, self._outgoing)
        self._burials = Burials(self._desk, self._supply)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_finishing = False
        self._pumped = False

    # --- life --------------------------------------------------------------------------------------------------------

    def watch(self, partition: Partition) -> None:
        """Read this partition, too."""
        self._supply.watch(partition)

    def watches(self, index: int) -> bool:
        return index in self._supply.partitions

    def stop(self) -> None:
        """Nothing moves any more. Who is still a member has been told to go."""
        self._sinks.clear()
        self._supply.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._desk.stop()

    def wake(self) -> None:
        self._surroundings.pumps.add(self)

    @property
    def now_ms(self) -> int:
        return self._surroundings.clock.monotonic_ms()

    def save_memory(self) -> None:
        """Forget what was read ahead and nobody has taken since the last call."""
        if self._pumped:
            self._pumped = False
        else:
            self._supply.save_memory()

    # --- members -----------------------------------------------------------------------------------------------------

    def join(self, member: Member, sink: Sink) -> None:
        self._sinks[member] = sink
        self.core.join(member, self.now_ms)
        self.wake()

    def leave(self, member: Member) -> bool:
        """Whether others are left."""
        if self._sinks.pop(member, None) is not None:
            self.core.leave(member, self.now_ms)
            self.wake()
        return bool(self._sinks)

    def pause(self, member: Member) -> None:
        member.is_paused = True

    def resume(self, member: Member) -> None:
        member.is_paused = False
        self.core.dealing.has_room(member, self.now_ms)
        self.wake()

    def acknowledge(self, member: Member, ranges: Iterable[AckRange]) -> None:
        """Take a member's answers. KafkaError if one of the messages was never sent; then none of them counts."""
        try:
            self.core.answers.acknowledge(member, ranges, self.now_ms)
        finally:
            self.wake()

    def set_position(self, partition: int, offset: int) -> None:
        """Declare everything below `offset` done; delivery goes on from there."""
        if self.core.refreshing.is_waiting:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "a refresh begins; commit after its RESET")
        self.core.answers.commit(partition, offset, self.now_ms)
        self.wake()

    @property
    def member_count(self) -> int:
        return len(self._sinks)

    @property
    def in_flight(self) -> int:
        """Messages that members have not answered."""
        return self.core.in_flight

    @property
    def has_members(self) -> bool:
        return bool(self._sinks)

    async def bury_dead(self) -> None:
        """Try it once: whoever is the last member may have been killed by a message."""
        await self._burials.bury()

    def evict_all(self, reason: str) -> None:
        for sink in tuple(self._sinks.values()):
            sink.evict(reason)

    def group_members(self) -> list[MemberDescription]:
        return described(self._sinks, self.topic, self._supply.partitions)

    # --- the pump ----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Deal what there is; True if the turn was over before that."""
        if not self._sinks:
            return False
        core, state, now_ms = self.core, self._state, self.now_ms
        self._pumped = True
        core.tick(now_ms)
        while state.evicted:
            member = state.evicted.pop()
            if member in self._sinks:
                self._sinks[member].evict("a refresh waits for messages that were not acknowledged in time")
        self._supply.check_rewind()
        if state.refresh is not None:
            self._tell_resets()
        self._again.read(now_ms)
        # What comes again goes first, or a member that takes over would get a partition's messages out of order.
        more = False if self._again.is_reading else self._supply.deal(now_ms)
        if state.dead:
            self._burials.begin(now_ms)
        if state.dirty:
            self._surroundings.commit_soon(self)
        if state.refresh is not None and core.refreshing.is_over and not self._is_finishing:
            self._is_finishing = True
            self._surroundings.refreshed(self)
        self._set_timer()
        return more

    def finished_refresh(self) -> None:
        """Its end is on disk."""
        self._is_finishing = False
        self._state.refresh = None

    def _tell_resets(self) -> None:
        refresh = self._state.refresh
        if refresh is None:
            return
        for member, sink in self._sinks.items():
            if self.core.refreshing.must_reset(member):
                member.reset_sent = True
                ends = tuple(sorted(refresh.ends.items()))
                sink.send(encode(Reset(self.name, refresh.refresh_id, (TopicEnds(self.topic, ends),))))

    # --- time --------------------------------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        due_ms = self.core.next_wake_ms()
        if due_ms is None or (self._timer is not None and self._timer_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = due_ms
        delay = max(0, due_ms - self.now_ms) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay, self._time_came)

    def _time_came(self) -> None:
        self._timer = None
        self.wake()
