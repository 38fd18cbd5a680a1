"""Dead letters of one subscription, on their way to its dead-letter topic.

Their offsets are done when they are on disk there.

While the topic cannot be written they wait: members do not get them again, and other messages are delivered. The write
is retried after a pause, which doubles up to half a minute. What the topic will never take is given up.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable

from penstock.broker.delivery.core.poison import DeadLetter
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.dead_letter_topics import TOO_LARGE, DeadLetterTopics, dead_letter_topic
from penstock.broker.delivery.large_messages import LargeMessages
from penstock.broker.delivery.topic_feed import TopicFeed
from penstock.model.counted import counted
from penstock.model.errors import KafkaError
from penstock.runtime.background import Background
from penstock.runtime.clock import Clock

logger = logging.getLogger(__name__)

AT_ONCE = 200
PAUSE_MS = 1_000
PAUSE_MS_MAX = 30_000


class DeadLetters:
    """The dead letters of one subscription; one attempt to store them at a time."""

    __slots__ = (
        "_background", "_clock", "_core", "_feed", "_large", "_lock", "_not_before_ms", "_pause_ms", "_topics",
        "_wake",
    )  # fmt: skip

    def __init__(
        self,
        core: Subscription,
        feed: TopicFeed,
        topics: DeadLetterTopics,
        large: LargeMessages,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self._core = core
        self._feed = feed
        self._topics = topics
        self._large = large
        self._clock = clock
        self._wake = wake
        self._background = Background()
        self._lock = asyncio.Lock()
        self._pause_ms = PAUSE_MS
        self._not_before_ms = 0

    def stop(self) -> None:
        self._background.cancel()

    def begin(self, now_ms: int) -> None:
        """Start storing the dead letters that there are, unless that failed a moment ago."""
        if not self._lock.locked() and now_ms >= self._not_before_ms:
            self._background.start(self.store())

    async def store(self) -> None:
        """Try once to store all dead letters, after an attempt that is under way."""
        async with self._lock:
            try:
                await self._store(self._core.exhausted.letters())
            except Exception as error:
                self._failed(error)
            else:
                self._pause_ms = PAUSE_MS
        self._wake()

    async def _store(self, letters: list[DeadLetter]) -> None:
        problem: Exception | None = None
        letters.sort()
        for partition, those in itertools.groupby(letters, key=lambda one: one.partition):
            waiting = list(those)
            while waiting:
                now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
                error, unread = await self._store_some(partition, now)
                problem, waiting = error or problem, unread + waiting
        if problem is not None:
            raise problem

    async def _store_some(self, partition: int, letters: list[DeadLetter]) -> tuple[Exception | None, list[DeadLetter]]:
        """Store messages of one partition. Returns the error of one that could not be stored, and those that would have
        been too much at once.
        """
        core = self._core
        found = await self._feed.find(partition, [one.offset for one in letters])
        if found is None:
            return OSError(f"partition {partition} cannot be read"), []
        core.counters.expired += found.expired
        unread = frozenset(found.unread)
        for letter in letters:
            if letter.offset not in found.messages and letter.offset not in unread:
                core.exhausted.stored(letter)  # expired, too large by now, or no longer in the log
        items = [(one, found.messages[one.offset][0]) for one in letters if one.offset in found.messages]
        problem: KafkaError | None = None
        for letter, error in await self._topics.store(core.name, core.topic, items) if items else ():
            if error is None:
                core.exhausted.stored(letter)
                core.counters.dead_lettered += 1
            elif error.code in TOO_LARGE:
                core.exhausted.stored(letter)
                self._large.left_out(core, letter.partition, 1, letter.offset)
            else:
                problem = error
        return problem, [letter for letter in letters if letter.offset in unread]

    def _failed(self, error: Exception) -> None:
        core = self._core
        logger.error(
            "%s cannot be put into the dead-letter topic %s (%r); trying again in %d s",
            counted(len(core.exhausted), "message"), dead_letter_topic(core.topic, core.name), error,
            self._pause_ms // 1000,
        )  # fmt: skip
        self._not_before_ms = self._clock.monotonic_ms() + self._pause_ms
        asyncio.get_running_loop().call_later(self._pause_ms / 1000, self._wake)
        self._pause_ms = min(2 * self._pause_ms, PAUSE_MS_MAX)
