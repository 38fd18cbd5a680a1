"""Positions of subscriptions on their way into `__consumer_offsets`: what changes in a few milliseconds goes together.

Each commit costs a sync, which publishers would have to share: after the first one there is a pause before the next. A
subscription has one commit under way at most; what changes meanwhile is in the next one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from penstock.broker.delivery.core.position import Position, encode_position
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.cluster.topics import TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH
from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
GATHER_MS = 5
"""After a pause, changes of so long go together."""
STEP_NS = 500_000
STEP_PAUSE_SECONDS = 0.002


class Commits:
    """One for all subscriptions of a node."""

    def __init__(
        self,
        *,
        groups: GroupCoordinator,
        topics: TopicTable,
        clock: Clock,
        interval_ms: int,
        refresh_id: Callable[[str], int],
    ) -> None:
        self._groups = groups
        self._topics = topics
        self._clock = clock
        self._interval_ms = interval_ms
        self._refresh_id = refresh_id
        self._due: dict[LiveSubscription, None] = {}
        self._timer: asyncio.Handle | None = None
        self._not_before = 0.0
        self._waiting: dict[LiveSubscription, list[asyncio.Future[None]]] = {}

    def soon(self, live: LiveSubscription) -> None:
        self._due[live] = None
        if self._timer is None:
            loop = asyncio.get_running_loop()
            gathered = loop.time() + min(GATHER_MS, self._interval_ms) / 1000
            self._timer = loop.call_at(max(gathered, self._not_before), self._tick)

    async def now(self, live: LiveSubscription) -> None:
        """Store what has changed, and wait until it is on disk."""
        if not live.core.state.dirty and not live.is_commit_under_way:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(live, []).append(done)
        self._due.pop(live, None)
        if not live.is_commit_under_way:
            self._commit(live)
        await done

    def stop(self, lives: Iterable[LiveSubscription]) -> None:
        """Write what has changed; the flush at the end of the node makes it durable."""
        for live in lives:
            if live.core.state.dirty:
                self._commit(live)
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """A few; the others a little later, so that neither the loop nor a flush round has many at a time."""
        loop = asyncio.get_running_loop()
        end = time.perf_counter_ns() + STEP_NS
        while self._due:
            live = next(iter(self._due))
            del self._due[live]
            if not live.is_commit_under_way and live.core.state.dirty:
                self._commit(live)
            if self._due and time.perf_counter_ns() > end:
                self._timer = loop.call_later(STEP_PAUSE_SECONDS, self._tick)
                return
        self._timer = None
        self._not_before = loop.time() + self._interval_ms / 1000

    def _commit(self, live: LiveSubscription) -> None:
        positions = live.core.take_positions()
        changes = self.changes(live.name, live.topic, positions)
        waiting = self._waiting.pop(live, [])  # whoever comes later waits for the next one
        if not changes:
            _tell(waiting, ErrorCode.NONE)
            return
        live.is_commit_under_way = True

        def ended(code: ErrorCode) -> None:
            live.is_commit_under_way = False
            _tell(waiting, code)
            self._go_on(live, code, positions)

        try:
            self._groups.commit_held(live.name, changes, ended)
        except KafkaError as error:
            ended(error.code)

    def _go_on(self, live: LiveSubscription, code: ErrorCode, positions: dict[int, Position]) -> None:
        if code is not ErrorCode.NONE:
            log.warning("positions of %s are not stored: %s", live.name, code.name)
            live.core.state.dirty.update(positions)
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self.soon, live)
        elif live in self._waiting:
            self._commit(live)
        elif live.core.state.dirty:
            self.soon(live)

    def changes(self, name: str, topic_name: str, positions: dict[int, Position]) -> list[OffsetChange]:
        topic = self._topics.get(topic_name)
        if topic is None:
            return []
        now_ms, refresh_id = self._clock.now_ms(), self._refresh_id(name)
        return [
            OffsetChange(
                topic_name,
                partition,
                CommittedOffset(
                    position.offset, NO_EPOCH, encode_position(position, refresh_id), now_ms, topic_id=topic.topic_id
                ),
            )
            for partition, position in positions.items()
        ]


def _tell(waiting: list[asyncio.Future[None]], code: ErrorCode) -> None:
    for done in waiting:
        if done.done():
            continue
        if code is ErrorCode.NONE:
            done.set_result(None)
        else:
            done.set_exception(KafkaError(code, "the position could not be stored"))
