"""A subscription with members: its core, the logs it reads, and the connections it sends to.

Events (a flush, an answer, a member, time) put it into the queue of `pumps`; a pump deals what there is to those who
have room, a bounded amount at a time. Reads that would wait for the disk, and messages that are sent again, go through
a thread. Positions are stored by `commits`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.broker import record_wire as wire
from penstock.broker.groups import members as group_members
from penstock.broker.groups.group import PUSH
from penstock.broker.subscriptions.core import Core, Dead, Rules
from penstock.broker.subscriptions.feed import Feed, Found, find
from penstock.broker.subscriptions.member import Member
from penstock.broker.subscriptions.progress import Progress
from penstock.broker.subscriptions.pumps import Pumps
from penstock.broker.subscriptions.reading import Chunk
from penstock.cluster.partition import Partition
from penstock.model.errors import KafkaError
from penstock.observability.timings import Timings
from penstock.protocol.push.data import data_frame, data_head
from penstock.protocol.push.messages import Reset, TopicEnds, encode
from penstock.runtime.clock import Clock
from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)

AGAIN_AT_ONCE = 200  # messages that are read to be sent again
STUCK_MS = 1_000  # a partition that cannot be read is tried again
PUMPED_BYTES_MAX = 1 << 20  # sent in a turn: then transports get to say that they have enough
FRAME_BYTES = 1 << 20  # a DATA frame gets no further message beyond this


class Sink(Protocol):
    """The connection of a member."""

    def send(self, data: bytes) -> None: ...
    def evict(self, reason: str) -> None: ...


class Undertaker(Protocol):
    """Puts a message into the dead-letter topic; KafkaError if that cannot be done."""

    async def bury(self, live: LiveSubscription, dead: Dead, found: Found) -> None: ...


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What all live subscriptions of a node share."""

    rules: Rules
    clock: Clock
    pumps: Pumps
    commit_soon: Callable[[LiveSubscription], None]
    refreshed: Callable[[LiveSubscription], None]
    undertaker: Undertaker
    latency: Timings


class LiveSubscription:
    """Between the first member and the last."""

    def __init__(self, name: str, topic: str, core: Core, surroundings: Surroundings) -> None:
        self.name = name
        self.topic = topic
        self.core = core
        self.is_pump_due = False
        self.is_commit_under_way = False
        self._surroundings = surroundings
        self._head = data_head(name, topic)
        self._feeds: dict[int, Feed] = {}
        self._order: list[int] = []  # partitions; the one to be read next comes first
        self._sinks: dict[Member, Sink] = {}
        self._rewinds = core.rewinds
        self._next_frame_id = 1
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_reading_again = False
        self._is_finishing = False
        self._pumped = False
        self._sent_bytes = 0

    # --- life --------------------------------------------------------------------------------------------------------

    def watch(self, partition: Partition) -> None:
        """Read this partition, too."""
        self._feeds[partition.index] = Feed(partition)
        self._order.append(partition.index)
        partition.add_data_waiter(self.wake)

    def watches(self, index: int) -> bool:
        return index in self._feeds

    def stop(self) -> None:
        for feed in self._feeds.values():
            feed.partition.remove_data_waiter(self.wake)
        self._feeds.clear()
        self._order.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in self._tasks:
            task.cancel()

    def wake(self) -> None:
        self._surroundings.pumps.add(self)

    @property
    def now_ms(self) -> int:
        return self._surroundings.clock.monotonic_ms()

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
        self.core.has_room(member, self.now_ms)
        self.wake()

    def evict_all(self, reason: str) -> None:
        for sink in tuple(self._sinks.values()):
            sink.evict(reason)

    def group_members(self) -> Iterable[group_members.Member]:
        """As DescribeGroups shows them: every member reads every partition."""
        topic = wire.string(self.topic)
        one_topic, nothing = wire.INT16.pack(0) + wire.INT32.pack(1), wire.INT32.pack(-1)
        subscription = one_topic + topic + nothing
        partitions = b"".join(wire.INT32.pack(index) for index in sorted(self._feeds))
        assignment = one_topic + topic + wire.INT32.pack(len(self._feeds)) + partitions + nothing
        return [
            group_members.Member(
                member_id=member.member_id,
                instance_id=None,
                client_id=member.client_id,
                client_host=member.host,
                rebalance_timeout_ms=0,
                session_timeout_ms=0,
                protocols=((PUSH, subscription),),
                assignment=assignment,
            )
            for member in self._sinks
        ]

    # --- the pump ----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Deal what there is; True if the turn was over before that."""
        if not self._sinks:
            return False
        core, now_ms = self.core, self.now_ms
        self._pumped = True
        core.tick(now_ms)
        while core.evicted:
            member = core.evicted.pop()
            if member in self._sinks:
                self._sinks[member].evict("a refresh waits for messages that were not acknowledged in time")
        self._check_rewind()
        self._tell_resets()
        self._read_again(now_ms)
        # What comes again goes first, or a member that takes over would get a partition's messages out of order.
        more = False if self._is_reading_again else self._deal(now_ms)
        self._bury()
        if core.dirty:
            self._surroundings.commit_soon(self)
        if core.refresh is not None and core.is_refreshed and not self._is_finishing:
            self._is_finishing = True
            self._surroundings.refreshed(self)
        self._set_timer()
        return more

    def finished_refresh(self) -> None:
        """Its end is on disk."""
        self._is_finishing = False
        self.core.refresh = None

    def _check_rewind(self) -> None:
        if self._rewinds != self.core.rewinds:
            self._rewinds = self.core.rewinds
            for feed in self._feeds.values():
                if not feed.is_preparing:
                    feed.forget()

    def _tell_resets(self) -> None:
        refresh = self.core.refresh
        if refresh is None:
            return
        for member, sink in self._sinks.items():
            if self.core.must_reset(member):
                member.reset_sent = True
                ends = tuple(sorted(refresh.ends.items()))
                sink.send(encode(Reset(self.name, refresh.refresh_id, (TopicEnds(self.topic, ends),))))

    def _deal(self, now_ms: int) -> bool:
        core = self.core
        end = time.perf_counter_ns() + STEP_NS
        self._sent_bytes = 0
        empty = 0  # partitions in a row without anything new
        while core.can_deal and empty < len(self._order):
            index = self._order[0]
            dealt = self._deal_from(self._feeds[index], index, now_ms)
            self._send()
            if dealt is None:
                empty += 1
                self._order.append(self._order.pop(0))
                continue
            empty = 0
            if time.perf_counter_ns() > end or self._sent_bytes > PUMPED_BYTES_MAX:
                return True
            if not dealt:
                break
        self._send()
        return False

    def save_memory(self) -> None:
        """Forget what was read ahead and nobody has taken since the last call."""
        if self._pumped:
            self._pumped = False
            return
        for feed in self._feeds.values():
            if not feed.is_preparing:
                feed.save_memory()

    def _deal_from(self, feed: Feed, index: int, now_ms: int) -> int | None:
        """How many messages found a member, or None if there is nothing to deal here now."""
        core = self.core
        wall_ms = self._surroundings.clock.now_ms()
        chunk = feed.chunk
        if chunk is not None and chunk.expiries is not None:
            core.tally.expired += chunk.drop_expired(wall_ms)
        if chunk is not None and chunk.is_empty:
            core.passed(index, chunk.next_offset)
            chunk = feed.chunk = None
        if chunk is None:
            chunk = self._read(feed, index, now_ms, wall_ms)
            if chunk is None:
                return None
            if chunk.is_empty:
                core.passed(index, chunk.next_offset)
                return 1  # nothing in it, but reading goes on behind it
            feed.chunk = chunk
        start = chunk.start
        keys = chunk.keys[start:]
        taken = core.deal(index, chunk.offsets[start:], chunk.items[start:], keys, now_ms)
        chunk.start = start + taken
        if taken and not start and chunk.first_timestamp >= 0:
            self._surroundings.latency.observe(max(0, wall_ms - chunk.first_timestamp) / 1000)
        if chunk.is_empty:
            core.passed(index, chunk.next_offset)
            feed.chunk = None
        return taken

    def _read(self, feed: Feed, index: int, now_ms: int, wall_ms: int) -> Chunk | None:
        """The next messages, perhaps none of a stretch; None if there is nothing, or not yet."""
        core = self.core
        progress = core.progress[index]
        partition = feed.partition
        if feed.is_preparing or partition.failed or feed.stuck_until_ms > now_ms or not core.may_deal_new(index):
            return None
        if progress.next_offset < partition.log_start:
            log.warning(
                "%s: offsets %d to %d of %s-%d are gone", self.name, progress.next_offset, partition.log_start - 1,
                self.topic, index,
            )  # fmt: skip
            core.passed(index, partition.log_start)
        wanted = (lambda offset: not progress.is_done_ahead(offset)) if progress.has_done_ahead else None
        try:
            chunk = feed.next_chunk(
                progress.next_offset, ttl_ms=partition.log.config.message_ttl_ms, now_ms=wall_ms, wanted=wanted
            )
        except BlockingIOError:
            feed.is_preparing = True
            self._start(self._prepare(feed, progress.next_offset))
            return None
        except KafkaError as error:
            self._stuck(feed, error)
            return None
        if chunk is not None:
            core.tally.expired += chunk.expired
        return chunk

    async def _prepare(self, feed: Feed, position: int) -> None:
        rewinds = self._rewinds
        try:
            await asyncio.to_thread(feed.prepare, position)
        except (KafkaError, OSError) as error:
            self._stuck(feed, error)
        finally:
            feed.is_preparing = False
            if rewinds != self.core.rewinds:
                feed.forget()
            self.wake()

    def _stuck(self, feed: Feed, error: Exception) -> None:
        feed.forget()
        feed.stuck_until_ms = self.now_ms + STUCK_MS
        log.error("%s: %s-%d cannot be read: %r", self.name, self.topic, feed.partition.index, error)
        asyncio.get_running_loop().call_later(STUCK_MS / 1000, self.wake)

    def _send(self) -> None:
        """Everything outgoing, in frames of what the member has asked for."""
        touched = self.core.touched
        while touched:
            member, _ = touched.popitem()
            items, member.outgoing = member.outgoing, []
            self._sent_bytes += member.outgoing_bytes
            member.outgoing_bytes = 0
            sink = self._sinks.get(member)
            if sink is not None:
                sink.send(b"".join(self._frames(items, member.messages_per_frame)))

    def _frames(self, items: list[bytes], per_frame: int) -> Iterator[bytes]:
        start = 0
        while start < len(items):
            part = items[start : start + per_frame]
            if sum(map(len, part)) > FRAME_BYTES:
                part = _up_to(part, FRAME_BYTES)
            yield data_frame(self._head, part, self._next_frame_id)
            self._next_frame_id += 1
            start += len(part)

    # --- sending again, and the dead ---------------------------------------------------------------------------------

    def _read_again(self, now_ms: int) -> None:
        if self._is_reading_again:
            return
        due = self.core.due(now_ms, AGAIN_AT_ONCE)
        if due:
            self._is_reading_again = True
            by_partition: dict[int, list[int]] = {}
            for index, offset in due:
                by_partition.setdefault(index, []).append(offset)
            self._start(self._deal_again([(self.core.progress[index], by_partition[index]) for index in by_partition]))

    async def _deal_again(self, due: list[tuple[Progress, list[int]]]) -> None:
        try:
            for progress, offsets in due:
                found = await self._find(progress.partition, offsets)
                if found is not None and self._is_current(progress):
                    self._bring(progress.partition, offsets, found)
        finally:
            self._is_reading_again = False
            self.wake()

    def _is_current(self, progress: Progress) -> bool:
        """Whether the partition has not been set back meanwhile."""
        return self.core.progress.get(progress.partition) is progress

    async def _find(self, index: int, offsets: list[int]) -> Found | None:
        """None if they cannot be read now; they come back later."""
        feed = self._feeds.get(index)
        if feed is None:
            return None
        wall_ms = self._surroundings.clock.now_ms()
        try:
            return await asyncio.to_thread(
                find, feed.partition, tuple(offsets), ttl_ms=feed.partition.log.config.message_ttl_ms, now_ms=wall_ms
            )
        except (KafkaError, OSError) as error:
            log.error("%s: %s-%d cannot be read: %r", self.name, self.topic, index, error)
            for offset in offsets:
                self.core.revive(Dead(index, offset, 0), self.now_ms + STUCK_MS)
            return None

    def _bring(self, index: int, offsets: list[int], found: Found) -> None:
        core, now_ms = self.core, self.now_ms
        core.tally.expired += found.expired
        for offset in offsets:
            message = found.messages.get(offset)
            if message is None:
                core.gone(index, offset)
            else:
                core.deal_again(index, offset, message[0], message[1], now_ms)
        self._send()

    def _bury(self) -> None:
        for dead in self.core.take_dead():
            self._start(self._bury_one(dead, self.core.progress[dead.partition]))

    async def _bury_one(self, dead: Dead, progress: Progress) -> None:
        found = await self._find(dead.partition, [dead.offset])
        if found is None or not self._is_current(progress):
            return
        try:
            if found.messages:
                await self._surroundings.undertaker.bury(self, dead, found)
        except KafkaError as error:
            log.error("%s: offset %d cannot be put into the dead-letter topic: %r", self.name, dead.offset, error)
            self.core.revive(dead, self.now_ms + STUCK_MS)
        else:
            self.core.tally.dead += len(found.messages)
            self.core.tally.expired += found.expired
            self.core.gone(dead.partition, dead.offset)
        self.wake()

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

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _up_to(items: list[bytes], limit: int) -> list[bytes]:
    """The first ones, within a number of bytes; one at least."""
    size = 0
    for index, item in enumerate(items):
        size += len(item)
        if size > limit and index:
            return items[:index]
    return items
