"""The partitions that a live subscription reads, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.partition_feed import PartitionFeed
from penstock.broker.delivery.reading.lookup import Found
from penstock.cluster.partition import Partition
from penstock.observability.timings import Timings
from penstock.runtime.clock import Clock
from penstock.runtime.turns import STEP_NS

TURN_BYTES_MAX = 1 << 20
"""What is sent in a turn: then transports get to say that they have enough."""


class TopicFeed:
    """One feed for each partition; `wake` asks for a turn."""

    __slots__ = ("_clock", "_core", "_feeds", "_latency", "_order", "_outgoing", "_wake")

    def __init__(
        self, core: Subscription, outgoing: Outgoing, clock: Clock, latency: Timings, wake: Callable[[], None]
    ) -> None:
        self._core = core
        self._outgoing = outgoing
        self._clock = clock
        self._latency = latency
        self._wake = wake
        self._feeds: dict[int, PartitionFeed] = {}
        self._order: list[PartitionFeed] = []  # the one to be read next comes first

    @property
    def partitions(self) -> Collection[int]:
        return self._feeds.keys()

    def watch(self, partition: Partition) -> None:
        """Read this partition, too."""
        feed = PartitionFeed(partition, self._core, self._clock, self._latency, self._wake)
        self._feeds[partition.index] = feed
        self._order.append(feed)

    def stop(self) -> None:
        for feed in self._order:
            feed.stop()
        self._feeds.clear()
        self._order.clear()

    def save_memory(self) -> None:
        """Drop what was read ahead."""
        for feed in self._order:
            feed.forget()

    def deal(self, now_ms: int) -> bool:
        """Send new messages to members with room; True if the turn was over before all were sent."""
        can_deal, send, order = self._core.dispatch.can_deal, self._outgoing.send, self._order
        end = time.perf_counter_ns() + STEP_NS
        sent_bytes = empty = 0  # `empty` counts partitions in a row without anything new
        while can_deal() and empty < len(order):
            feed = order[0]
            feed.check_reset()
            dealt = feed.deal(now_ms)
            sent_bytes += send()
            if dealt is None:
                empty += 1
                order.append(order.pop(0))
                continue
            empty = 0
            if time.perf_counter_ns() > end or sent_bytes > TURN_BYTES_MAX:
                return True
            if not dealt:
                break
        send()
        return False

    async def find(self, partition: int, offsets: list[int]) -> Found | None:
        """Messages by their offsets; None if they cannot be read now."""
        feed = self._feeds.get(partition)
        return None if feed is None else await feed.find(offsets)
