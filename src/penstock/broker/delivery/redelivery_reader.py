"""Messages that are sent again: they are read once more, in a thread."""

from __future__ import annotations

from penstock.broker.delivery.core.partition_cursor import Progress
from penstock.broker.delivery.desk import Desk
from penstock.broker.delivery.outgoing import Outgoing
from penstock.broker.delivery.reading.feed import Found
from penstock.broker.delivery.topic_feed import STUCK_MS, Supply

AT_ONCE = 200


class Again:
    """One reading at a time. While `is_reading`, nothing new may be dealt: a member that takes over would get a
    partition's messages out of order.
    """

    __slots__ = ("_desk", "_outgoing", "_redelivery", "_supply", "is_reading")

    def __init__(self, desk: Desk, supply: Supply, outgoing: Outgoing) -> None:
        self._desk = desk
        self._redelivery = desk.core.redelivery
        self._supply = supply
        self._outgoing = outgoing
        self.is_reading = False

    def read(self, now_ms: int) -> None:
        """Begin to read what is due."""
        if self.is_reading:
            return
        due = self._redelivery.due(now_ms, AT_ONCE)
        if due:
            self.is_reading = True
            by_partition: dict[int, list[int]] = {}
            for index, offset in due:
                by_partition.setdefault(index, []).append(offset)
            progress = self._desk.core.progress
            self._desk.background.start(self._deal([(progress[index], by_partition[index]) for index in by_partition]))

    async def _deal(self, due: list[tuple[Progress, list[int]]]) -> None:
        try:
            for progress, offsets in due:
                found = await self._supply.find(progress.partition, offsets)
                if found is None:
                    self._later(progress.partition, offsets)
                elif self._desk.core.progress.get(progress.partition) is progress:  # it was not set back meanwhile
                    self._bring(progress.partition, offsets, found)
        finally:
            self.is_reading = False
            self._desk.wake()

    def _later(self, index: int, offsets: list[int]) -> None:
        due_ms = self._desk.now_ms + STUCK_MS
        for offset in offsets:
            self._redelivery.later(index, offset, due_ms)

    def _bring(self, index: int, offsets: list[int], found: Found) -> None:
        now_ms = self._desk.now_ms
        self._desk.core.state.tally.expired += found.expired
        for offset in offsets:
            message = found.messages.get(offset)
            if message is None:
                self._redelivery.gone(index, offset)
            else:
                self._redelivery.deal_again(index, offset, message[0], message[1], now_ms)
        self._outgoing.send()
