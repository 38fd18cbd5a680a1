"""The partitions that a live subscription reads, one after the other, and what was read ahead of them.

Reads that would wait for the disk go through a thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection

from penstock.broker.delivery.desk import Desk
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.reading.chunk import Chunk
from penstock.broker.delivery.reading.feed import Feed, Found, find
from penstock.cluster.partition import Partition
from penstock.model.errors import KafkaError
from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)

STUCK_MS = 1_000  # a partition that cannot be read is tried again
PUMPED_BYTES_MAX = 1 << 20  # sent in a turn: then transports get to say that they have enough


class Supply:
    __slots__ = ("_core", "_dealing", "_desk", "_feeds", "_order", "_outgoing", "_rewinds")

    def __init__(self, desk: Desk, outgoing: Outgoing) -> None:
        self._desk = desk
        self._core = desk.core
        self._dealing = desk.core.dealing
        self._outgoing = outgoing
        self._rewinds = desk.core.state.rewinds
        self._feeds: dict[int, Feed] = {}
        self._order: list[int] = []  # partitions; the one to be read next comes first

    @property
    def partitions(self) -> Collection[int]:
        return self._feeds.keys()

    def watch(self, partition: Partition) -> None:
        """Read this partition, too."""
        self._feeds[partition.index] = Feed(partition)
        self._order.append(partition.index)
        partition.add_data_waiter(self._desk.wake)

    def stop(self) -> None:
        for feed in self._feeds.values():
            feed.partition.remove_data_waiter(self._desk.wake)
        self._feeds.clear()
        self._order.clear()

    def save_memory(self) -> None:
        """Forget what was read ahead."""
        for feed in self._feeds.values():
            if not feed.is_preparing:
                feed.save_memory()

    def check_rewind(self) -> None:
        """After a step back what was read ahead is worthless."""
        if self._rewinds != self._core.state.rewinds:
            self._rewinds = self._core.state.rewinds
            for feed in self._feeds.values():
                if not feed.is_preparing:
                    feed.forget()

    # --- new messages ------------------------------------------------------------------------------------------------

    def deal(self, now_ms: int) -> bool:
        """Send what there is to those who have room; True if the turn was over before that."""
        can_deal, outgoing, order = self._dealing.can_deal, self._outgoing, self._order
        end = time.perf_counter_ns() + STEP_NS
        outgoing.sent_bytes = 0
        empty = 0  # partitions in a row without anything new
        while can_deal() and empty < len(order):
            index = order[0]
            dealt = self._deal_from(self._feeds[index], index, now_ms)
            outgoing.send()
            if dealt is None:
                empty += 1
                order.append(order.pop(0))
                continue
            empty = 0
            if time.perf_counter_ns() > end or outgoing.sent_bytes > PUMPED_BYTES_MAX:
                return True
            if not dealt:
                break
        outgoing.send()
        return False

    def _deal_from(self, feed: Feed, index: int, now_ms: int) -> int | None:
        """How many messages found a member, or None if there is nothing to deal here now."""
        core, surroundings = self._core, self._desk.surroundings
        wall_ms = surroundings.clock.now_ms()
        chunk = feed.chunk
        if chunk is not None and chunk.expiries is not None:
            core.state.tally.expired += chunk.drop_expired(wall_ms)
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
        taken = self._dealing.deal(index, chunk.offsets[start:], chunk.items[start:], keys, now_ms)
        chunk.start = start + taken
        if taken and not start and chunk.first_timestamp >= 0:
            surroundings.latency.observe(max(0, wall_ms - chunk.first_timestamp) / 1000)
        if chunk.is_empty:
            core.passed(index, chunk.next_offset)
            feed.chunk = None
        return taken

    def _read(self, feed: Feed, index: int, now_ms: int, wall_ms: int) -> Chunk | None:
        """The next messages, perhaps none of a stretch; None if there is nothing, or not yet."""
        core, desk = self._core, self._desk
        progress = core.progress[index]
        partition = feed.partition
        if (
            feed.is_preparing
            or partition.failed
            or feed.stuck_until_ms > now_ms
            or not self._dealing.may_deal_new(index)
        ):
            return None
        if progress.next_offset < partition.log_start:
            log.warning(
                "%s: offsets %d to %d of %s-%d are gone", desk.name, progress.next_offset, partition.log_start - 1,
                desk.topic, index,
            )  # fmt: skip
            core.passed(index, partition.log_start)
        wanted = (lambda offset: not progress.is_done_ahead(offset)) if progress.has_done_ahead else None
        try:
            chunk = feed.next_chunk(
                progress.next_offset, ttl_ms=partition.config.message_ttl_ms, now_ms=wall_ms, wanted=wanted
            )
        except BlockingIOError:
            feed.is_preparing = True
            desk.background.start(self._prepare(feed, progress.next_offset))
            return None
        except KafkaError as error:
            self._stuck(feed, error)
            return None
        if chunk is not None:
            core.state.tally.expired += chunk.expired
        return chunk

    async def _prepare(self, feed: Feed, position: int) -> None:
        rewinds = self._rewinds
        try:
            await asyncio.to_thread(feed.prepare, position)
        except (KafkaError, OSError) as error:
            self._stuck(feed, error)
        finally:
            feed.is_preparing = False
            if rewinds != self._core.state.rewinds:
                feed.forget()
            self._desk.wake()

    def _stuck(self, feed: Feed, error: Exception) -> None:
        feed.forget()
        feed.stuck_until_ms = self._desk.now_ms + STUCK_MS
        log.error("%s: %s-%d cannot be read: %r", self._desk.name, self._desk.topic, feed.partition.index, error)
        asyncio.get_running_loop().call_later(STUCK_MS / 1000, self._desk.wake)

    # --- messages that are looked for --------------------------------------------------------------------------------

    async def find(self, index: int, offsets: list[int]) -> Found | None:
        """None if they cannot be read now."""
        feed, desk = self._feeds.get(index), self._desk
        if feed is None:
            return None
        wall_ms = desk.surroundings.clock.now_ms()
        try:
            return await asyncio.to_thread(
                find, feed.partition, tuple(offsets), ttl_ms=feed.partition.config.message_ttl_ms, now_ms=wall_ms
            )
        except (KafkaError, OSError) as error:
            log.error("%s: %s-%d cannot be read: %r", desk.name, desk.topic, index, error)
            return None
