"""Messages on their way to the dead-letter topic. Their offsets are done when they are on disk there.

While the topic cannot be written they wait: nobody gets them again, and the others are delivered. It is tried again
after a pause, which doubles up to half a minute.
"""

from __future__ import annotations

import asyncio
import itertools
import logging

from penstock.broker.delivery.core.redelivery import Dead
from penstock.broker.delivery.dead_letter_topics import dead_letter_topic
from penstock.broker.delivery.desk import Desk
from penstock.broker.delivery.topic_feed import Supply
from penstock.model.errors import KafkaError

log = logging.getLogger(__name__)

AT_ONCE = 200
PAUSE_MS = 1_000
PAUSE_MS_MAX = 30_000


class Burials:
    """Of one subscription, one at a time."""

    __slots__ = ("_desk", "_lock", "_not_before_ms", "_pause_ms", "_redelivery", "_supply")

    def __init__(self, desk: Desk, supply: Supply) -> None:
        self._desk = desk
        self._redelivery = desk.core.redelivery
        self._supply = supply
        self._lock = asyncio.Lock()
        self._pause_ms = PAUSE_MS
        self._not_before_ms = 0

    def begin(self, now_ms: int) -> None:
        """Bury what is dead, unless that failed a moment ago."""
        if not self._lock.locked() and now_ms >= self._not_before_ms:
            self._desk.background.start(self.bury())

    async def bury(self) -> None:
        """Try it once for everything that is dead now, after what is under way."""
        async with self._lock:
            try:
                await self._bury(self._redelivery.dead())
            except Exception as error:
                self._failed(error)
            else:
                self._pause_ms = PAUSE_MS
        self._desk.wake()

    async def _bury(self, dead: list[Dead]) -> None:
        problem: Exception | None = None
        dead.sort()
        for partition, those in itertools.groupby(dead, key=lambda one: one.partition):
            waiting = list(those)
            while waiting:
                now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
                problem = await self._bury_some(partition, now) or problem
        if problem is not None:
            raise problem

    async def _bury_some(self, partition: int, dead: list[Dead]) -> Exception | None:
        """Messages of one partition; what was wrong with one of them."""
        tally = self._desk.core.state.tally
        found = await self._supply.find(partition, [one.offset for one in dead])
        if found is None:
            return OSError(f"partition {partition} cannot be read")
        tally.expired += found.expired
        for one in dead:
            if one.offset not in found.messages:  # expired, or not in the log any more
                self._redelivery.buried(one)
        letters = [(one, found.messages[one.offset][0]) for one in dead if one.offset in found.messages]
        problem: KafkaError | None = None
        for one, error in await self._desk.surroundings.undertaker.bury(self._desk, letters) if letters else ():
            if error is None:
                self._redelivery.buried(one)
                tally.dead += 1
            else:
                problem = error
        return problem

    def _failed(self, error: Exception) -> None:
        desk = self._desk
        log.error(
            "%d messages cannot be put into the dead-letter topic %s (%r); trying again in %d s",
            len(desk.core.state.dead), dead_letter_topic(desk.topic, desk.name), error, self._pause_ms // 1000,
        )  # fmt: skip
        self._not_before_ms = desk.now_ms + self._pause_ms
        asyncio.get_running_loop().call_later(self._pause_ms / 1000, desk.wake)
        self._pause_ms = min(2 * self._pause_ms, PAUSE_MS_MAX)
