"""The partitions that a live subscription reads in turn, and the messages that were read ahead of each.

Only partitions with news are looked at: a topic may have very many, and each message in any of them asks for a turn.
A partition has news when its log grows, when something that it waited for is there, or when delivery begins again
elsewhere, and until nothing is found there.

Reads that would wait for the disk go through a thread; a partition that cannot be read is tried again after a while,
and after a longer one each time if its bytes are wrong, because those do not get better by themselves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Collection
from functools import partial

from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.large_messages import LargeMessages
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.reading.feed import UNPACKED_BY_ANY_BYTES, Feed
from penstock.broker.delivery.reading.lookup import Found, find
from penstock.broker.delivery.reading.record_encoder import Chunk
from penstock.broker.delivery.scheduler import Turn
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TURN_NS
from penstock.observability.timings import Timings
from penstock.runtime.background import Background
from penstock.runtime.clock import Clock

logger = logging.getLogger(__name__)

TURN_BYTES_MAX = 1 << 20
"""Bytes sent in one turn: after it, transports get a chance to pause their members."""
RETRY_MS = 1_000
RETRY_MS_MAX = 60_000
REPORT_MS = 60_000
"""A partition that cannot be read is in the log once in this time."""


class PartitionFeed:
    """One partition on its way from the log to members: its reader, and its cursor in the subscription.

    `latency` gets the time from a message's timestamp to its sending, for the first message of every chunk. A feed with
    news is one of `ready`.
    """

    __slots__ = (
        "_background", "_chunk", "_clock", "_core", "_cursor", "_failed_at", "_feed", "_is_counted", "_is_preparing",
        "_item_bytes_max", "_large", "_latency", "_pause_ms", "_ready", "_report_ms", "_resets", "_retry", "_retry_ms",
        "_turn", "_unpacking", "is_ready", "partition", "waits_for_answers", "waits_for_room",
    )  # fmt: skip

    def __init__(
        self,
        partition: Partition,
        core: Subscription,
        clock: Clock,
        latency: Timings,
        large: LargeMessages,
        turn: Turn,
        ready: deque[PartitionFeed],
    ) -> None:
        self.partition = partition
        self._core = core
        self._cursor = core.cursors[partition.index]
        self._clock = clock
        self._latency = latency
        self._large = large
        self._unpacking = large.unpacking
        self._item_bytes_max = large.item_bytes_max(core)
        self._turn = turn
        self._ready = ready
        self.is_ready = True
        ready.append(self)
        self.waits_for_answers = False  # nothing is dealt before members have answered
        self.waits_for_room = False  # a large message for members of owners who have no room for it
        self._feed = Feed(partition, self._item_bytes_max)
        self._background = Background()
        self._chunk: Chunk | None = None  # read and not all dealt
        self._resets = self._cursor.resets
        self._is_preparing = False  # a thread reads; nothing else may use the feed
        self._is_counted = False  # `unpacking` knows of what was read
        # After a failed read: where, not before which time, how long that was, and what wakes the subscription then.
        self._failed_at = -1
        self._retry_ms = self._pause_ms = 0
        self._retry: asyncio.TimerHandle | None = None
        self._report_ms = 0  # the next failure that is logged is not before this time
        partition.add_data_waiter(self.has_news)

    def has_news(self) -> None:
        """Look at the partition in the next turn."""
        self.waits_for_room = False
        if not self.is_ready:
            self.is_ready = True
            self._ready.append(self)
        turn = self._turn
        if not turn.is_due:
            turn.is_due = True
            turn.add(turn)

    def look_again(self) -> bool:
        """Return whether members have answered so many messages that further ones can be dealt."""
        if self._core.dispatch.may_deal_new(self._cursor):
            self.waits_for_answers = False
            self.has_news()
        return not self.waits_for_answers

    def stop(self) -> None:
        self.partition.remove_data_waiter(self.has_news)
        self._background.cancel()
        self._unpacking.release(self)
        if self._retry is not None:
            self._retry.cancel()

    @property
    def unpacked_bytes(self) -> int:
        """Bytes of what was read and is not dealt, as far as they may be many."""
        return self._feed.unpacked_bytes + (self._chunk.item_bytes if self._chunk is not None else 0)

    def forget(self) -> None:
        """Drop what was read ahead."""
        if not self._is_preparing:
            self._drop()

    def _drop(self) -> None:
        self._feed.forget()
        self._unpacking.release(self)
        self._chunk = None

    def check_reset(self) -> None:
        """Drop what was read ahead if delivery starts again elsewhere."""
        if self._resets != self._cursor.resets and not self._is_preparing:
            self._resets = self._cursor.resets
            self.forget()

    # --- new messages ------------------------------------------------------------------------------------------------

    def deal(self, now_ms: int) -> int | None:
        """Deal the next messages. Returns how many found a member, or None if there is nothing to deal now."""
        cursor = self._cursor
        wall_ms = self._clock.now_ms()
        chunk = self._chunk
        if chunk is not None and chunk.expiries is not None:
            self._core.counters.expired += chunk.drop_expired(wall_ms)
        if chunk is not None and chunk.is_empty:
            cursor.skip_to(chunk.next_offset)
            chunk = self._chunk = None
        if chunk is None:
            chunk = self._read(now_ms, wall_ms)
            if chunk is None:
                return None
            if chunk.is_empty:
                cursor.skip_to(chunk.next_offset)
                return 1  # the chunk is empty, but reading goes on behind it
            self._chunk = chunk
        if chunk.has_large:
            self._is_counted = self._unpacking.note(self)
            owners = self._core.owners
            if not self._large.unsent.has_room(owners):
                self._large.unsent.wait(self.has_news, owners)
                self.waits_for_room = True
                return None
        start = chunk.start
        taken = self._core.dispatch.deal(cursor, chunk.offsets[start:], chunk.items[start:], chunk.keys[start:], now_ms)
        chunk.start = start + taken
        if not taken and not self._core.dispatch.may_deal_new(cursor):
            self.waits_for_answers = True
            return None
        if taken and not start and chunk.first_timestamp >= 0:
            self._latency.observe(max(0, wall_ms - chunk.first_timestamp) / 1000)
        if chunk.is_empty:
            cursor.skip_to(chunk.next_offset)
            self._chunk = None
            if self._is_counted:
                self._is_counted = self._unpacking.note(self)
        return taken

    def _read(self, now_ms: int, wall_ms: int) -> Chunk | None:
        """The next messages, perhaps an empty chunk; None if there is nothing to read, or not yet."""
        cursor, partition = self._cursor, self.partition
        if self._is_preparing or partition.failed or (self._retry_ms > now_ms and self._is_at_failure):
            return None
        if not self._core.dispatch.may_deal_new(cursor):
            self.waits_for_answers = True
            return None
        if cursor.next_offset < partition.log_start:
            logger.warning(
                "%s: offsets %d to %d of %s-%d are gone", self._core.name, cursor.next_offset, partition.log_start - 1,
                self._core.topic, partition.index,
            )  # fmt: skip
            cursor.skip_to(partition.log_start)
        ahead = cursor.ahead
        wanted = (lambda offset: not ahead.is_done(offset)) if ahead.done else None
        try:
            chunk = self._feed.next_chunk(
                cursor.next_offset, ttl_ms=partition.config.message_ttl_ms, now_ms=wall_ms, wanted=wanted
            )
        except BlockingIOError:
            self._is_preparing = True
            self._unpacking.release(self)
            self._background.start(self._prepare(cursor.next_offset))
            return None
        except KafkaError as error:
            self._fail(error)
            return None
        if chunk is not None:
            self._core.counters.expired += chunk.expired
            if chunk.too_large:
                self._large.left_out(self._core, partition.index, chunk.too_large, chunk.too_large_at)
        if self._is_counted:
            self._is_counted = self._unpacking.note(self)
        return chunk

    async def _prepare(self, position: int) -> None:
        try:
            if self._feed.is_huge:
                await self._unpacking.run(self._core.topic, self._feed.prepare_huge)
            else:
                await asyncio.to_thread(self._feed.prepare, position)
            self._is_counted = self._unpacking.note(self)
        except (KafkaError, OSError) as error:
            self._fail(error)
        finally:
            self._is_preparing = False
            self.check_reset()
            self.has_news()

    @property
    def _is_at_failure(self) -> bool:
        """Whether the next message is still the one that could not be read."""
        return self.partition.log_start <= self._failed_at == self._cursor.next_offset

    def _fail(self, error: Exception) -> None:
        self._drop()
        is_again = self._is_at_failure and isinstance(error, KafkaError) and error.code is ErrorCode.CORRUPT_MESSAGE
        pause_ms = self._pause_ms = min(2 * self._pause_ms, RETRY_MS_MAX) if is_again else RETRY_MS
        self._failed_at = self._cursor.next_offset
        self._retry_ms = self._clock.monotonic_ms() + pause_ms
        self._report(error)
        if self._retry is not None:
            self._retry.cancel()
        self._retry = asyncio.get_running_loop().call_later(pause_ms / 1000, self.has_news)

    def _report(self, error: Exception) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._report_ms:
            self._report_ms = now_ms + REPORT_MS
            logger.error("%s: %s-%d cannot be read: %r", self._core.name, self._core.topic, self.partition.index, error)

    # --- messages by offset ------------------------------------------------------------------------------------------

    async def find(self, offsets: list[int]) -> Found | None:
        """Messages by their offsets; None if they cannot be read now."""
        wall_ms, ttl_ms = self._clock.now_ms(), self.partition.config.message_ttl_ms
        limits = {"ttl_ms": ttl_ms, "now_ms": wall_ms, "item_bytes_max": self._item_bytes_max}
        look_up = partial(find, self.partition, tuple(offsets), **limits)
        try:
            try:
                return await asyncio.to_thread(look_up, limit=UNPACKED_BY_ANY_BYTES)
            except BlockingIOError:
                return await self._unpacking.run(self._core.topic, look_up)
        except (KafkaError, OSError) as error:
            self._report(error)
            return None


class TopicFeed:
    """One feed for each partition."""

    __slots__ = (
        "_clock", "_core", "_crowded", "_feeds", "_full", "_large", "_latency", "_outgoing", "_ready", "_rewinds",
        "_turn",
    )  # fmt: skip

    def __init__(
        self,
        core: Subscription,
        outgoing: Outgoing,
        clock: Clock,
        latency: Timings,
        large: LargeMessages,
        turn: Turn,
    ) -> None:
        self._core = core
        self._outgoing = outgoing
        self._clock = clock
        self._latency = latency
        self._large = large
        self._turn = turn
        self._feeds: dict[int, PartitionFeed] = {}
        self._ready: deque[PartitionFeed] = deque()  # the one to be read next comes first
        self._full: set[PartitionFeed] = set()  # they wait for answers of members
        self._crowded: set[PartitionFeed] = set()  # they have waited for room, and perhaps do so still
        self._rewinds = core.refreshing.rewinds

    @property
    def partitions(self) -> Collection[int]:
        return self._feeds.keys()

    def watch(self, partition: Partition) -> None:
        """Read a further partition."""
        self._feeds[partition.index] = PartitionFeed(
            partition, self._core, self._clock, self._latency, self._large, self._turn, self._ready
        )

    def joined(self) -> None:
        """Look again where a large message waits: there may be room for it at a new member."""
        crowded, self._crowded = self._crowded, set()
        for feed in crowded:
            if feed.waits_for_room:
                feed.has_news()

    def moved(self, partition: int) -> None:
        """Go on elsewhere in a partition: its position was set."""
        feed = self._feeds.get(partition)
        if feed is not None:
            feed.has_news()

    def stop(self) -> None:
        for feed in self._feeds.values():
            feed.stop()
        self._feeds.clear()
        self._ready.clear()
        self._full.clear()
        self._crowded.clear()

    def save_memory(self) -> None:
        """Drop what was read ahead."""
        for feed in self._feeds.values():
            feed.forget()

    def deal(self, now_ms: int) -> bool:
        """Send new messages to members with room. True if the turn ended before all were sent."""
        can_deal, send, ready = self._core.dispatch.can_deal, self._outgoing.send, self._ready
        end = time.perf_counter_ns() + TURN_NS
        if self._full or self._rewinds != self._core.refreshing.rewinds:
            self._look_again()
        sent_bytes = 0
        while ready and can_deal():
            feed = ready[0]
            feed.check_reset()
            dealt = feed.deal(now_ms)
            sent_bytes += send()
            if dealt is None:
                ready.popleft()
                feed.is_ready = False
                if feed.waits_for_answers:
                    self._full.add(feed)
                elif feed.waits_for_room:
                    self._crowded.add(feed)
                if not ready:
                    break
            if time.perf_counter_ns() > end or sent_bytes > TURN_BYTES_MAX:
                return True
            if dealt == 0:
                break
        send()
        return False

    def _look_again(self) -> None:
        """Look at partitions again that have room for further messages, or all after a rewind."""
        self._full = {feed for feed in self._full if not feed.look_again()}
        if self._rewinds != self._core.refreshing.rewinds:
            self._rewinds = self._core.refreshing.rewinds
            for feed in self._feeds.values():
                feed.has_news()

    async def find(self, partition: int, offsets: list[int]) -> Found | None:
        """Messages by their offsets; None if they cannot be read now."""
        feed = self._feeds.get(partition)
        return None if feed is None else await feed.find(offsets)
