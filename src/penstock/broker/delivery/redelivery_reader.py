"""Reader of messages that are sent again: they are read from the log once more, in a thread."""

from __future__ import annotations

from collections.abc import Callable

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.reading.lookup import Found
from penstock.broker.delivery.reading.record_encoder import LARGE_ITEM_BYTES
from penstock.broker.delivery.topic_feed import RETRY_MS, RETRY_MS_MAX, TopicFeed
from penstock.broker.delivery.unsent import Unsent
from penstock.broker.progress.partition_cursor import PartitionCursor
from penstock.runtime.background import Background
from penstock.runtime.clock import Clock

AT_ONCE = 200
FIRST = 0  # the due time of messages that go before all others


class RedeliveryReader:
    """Reads redeliveries, one read at a time. While `is_reading`, nothing new may be dealt: a member that takes over
    would get the messages of a partition out of order.
    """

    __slots__ = (
        "_background", "_clock", "_core", "_feed", "_outgoing", "_pauses_ms", "_redelivery", "_unsent", "_wake",
        "is_reading",
    )  # fmt: skip

    def __init__(
        self,
        core: Subscription,
        feed: TopicFeed,
        outgoing: Outgoing,
        unsent: Unsent,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self._core = core
        self._redelivery = core.redelivery
        self._feed = feed
        self._outgoing = outgoing
        self._unsent = unsent
        self._clock = clock
        self._wake = wake
        self._background = Background()
        self._pauses_ms: dict[int, int] = {}  # of partitions that could not be read when they were tried last
        self.is_reading = False

    def stop(self) -> None:
        self._background.cancel()

    def read(self, now_ms: int) -> None:
        """Begin to read what is due."""
        if self.is_reading:
            return
        due = self._redelivery.due(now_ms, AT_ONCE)
        if due:
            self.is_reading = True
            by_partition: dict[int, list[int]] = {}
            for partition, offset in due:
                by_partition.setdefault(partition, []).append(offset)
            self._background.start(self._deal(by_partition))

    async def _deal(self, due: dict[int, list[int]]) -> None:
        cursors = [(self._core.cursors[partition], offsets) for partition, offsets in due.items()]
        resets = [cursor.resets for cursor, _ in cursors]
        try:
            for (cursor, offsets), before in zip(cursors, resets, strict=True):
                found = await self._feed.find(cursor.partition, offsets)
                if found is None:
                    due_ms = self._clock.monotonic_ms() + self._next_pause_ms(cursor.partition)
                    for offset in offsets:
                        self._redelivery.postpone(cursor, offset, due_ms)
                    continue
                self._pauses_ms.pop(cursor.partition, None)
                if cursor.resets == before:  # delivery has not started elsewhere meanwhile
                    self._bring(cursor, offsets, found)
        finally:
            self.is_reading = False
            self._wake()

    def _next_pause_ms(self, partition: int) -> int:
        """Twice the last one: bytes that are wrong do not get better."""
        pause_ms = self._pauses_ms[partition] = min(2 * self._pauses_ms.get(partition, RETRY_MS // 2), RETRY_MS_MAX)
        return pause_ms

    def _bring(self, cursor: PartitionCursor[Member], offsets: list[int], found: Found) -> None:
        now_ms = self._clock.monotonic_ms()
        self._core.counters.expired += found.expired
        unread = frozenset(found.unread)
        for offset in offsets:
            message = found.messages.get(offset)
            if offset in unread:
                self._redelivery.postpone(cursor, offset, FIRST)
            elif message is None:
                self._redelivery.gone(cursor, offset)
            elif len(message[0]) > LARGE_ITEM_BYTES and not self._unsent.has_room(self._core.owners):
                self._redelivery.postpone(cursor, offset, now_ms + RETRY_MS)
            else:
                self._redelivery.deal_again(cursor, offset, message[0], message[1], now_ms)
        self._outgoing.send()
