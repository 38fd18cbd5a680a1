"""Positions of subscriptions on their way into `__consumer_offsets`; changes of a few milliseconds share a commit.

Each commit costs a sync, which publishers would have to share: after the first one there is a pause before the next. A
subscription has at most one commit under way, and changes made meanwhile go into the next one; only the last positions
do not wait for it (`write`). Commits of a subscription end in the order in which they were written. One has a bounded
number of positions, the oldest changes first: a subscription whose topic is wide, or that is reset, may have more than
a batch has room for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.broker.progress.position import Position, encode_position
from penstock.cluster.topics import TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH
from penstock.model.limits import KIB
from penstock.runtime.clock import Clock

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
GATHER_MS = 5
"""Changes made within this time share a commit."""
BURST_NS = 500_000
"""Commits are written for this long at a time: after a whole turn of them, the flush round would be long."""
BURST_PAUSE_SECONDS = 0.002
PORTION: Final = 500
"""Positions that are stored as one batch: a few milliseconds, and with the longest names two thirds of a batch."""
PORTION_TEXT_BYTES: Final = 256 * KIB
"""Of what is stored beside offsets: ranges that are done, and delivery counts."""


class PositionSource(Protocol):
    """A subscription whose positions are stored."""

    name: str
    topic: str

    @property
    def change_count(self) -> int:
        """Positions that may differ from those that were stored last."""
        ...

    def take_positions(self, most: int) -> Iterator[tuple[int, Position]]:
        """So many of them, those that changed first before others; each is taken when it is asked for."""
        ...

    def put_back(self, partitions: Iterable[int]) -> None:
        """Take back positions that could not be stored."""
        ...


@dataclass(slots=True)
class _Waiter:
    """A caller that waits until what had changed when it came is stored."""

    done: asyncio.Future[None]
    ahead: int
    """Changes that are to be taken until then."""


class Commits:
    """The commits of all subscriptions of a node."""

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
        self._due: dict[PositionSource, None] = {}
        self._under_way: dict[PositionSource, dict[int, Position]] = {}  # the positions that were written last
        self._retrying: set[PositionSource] = set()
        self._waiting: dict[PositionSource, list[_Waiter]] = {}
        self._timer: asyncio.Handle | None = None
        self._not_before = 0.0

    def is_settled(self, source: PositionSource) -> bool:
        """Whether nothing of a subscription is left to be stored."""
        return not source.change_count and source not in self._under_way

    def soon(self, source: PositionSource) -> None:
        self._due[source] = None
        if self._timer is None:
            loop = asyncio.get_running_loop()
            gathered = loop.time() + min(GATHER_MS, self._interval_ms) / 1000
            self._timer = loop.call_at(max(gathered, self._not_before), self._tick)

    async def now(self, source: PositionSource) -> None:
        """Store what has changed, and wait until it is on disk. KafkaError if that was not possible."""
        if self.is_settled(source):
            return
        done = self._wait(source)
        self._due.pop(source, None)
        if source not in self._under_way:
            self._commit(source)
        await done

    async def settled(self, source: PositionSource) -> None:
        """Wait until nothing of a subscription is left to be stored, however often a commit is refused."""
        while not self.is_settled(source):
            with suppress(KafkaError):  # it is retried
                await self._wait(source)

    def write(self, source: PositionSource) -> bool:
        """Write what has changed at once, even while a commit is under way. Returns whether everything is in the log;
        if not, there was more than a commit has room for, or it was refused and is retried.
        """
        if source.change_count:
            self._due.pop(source, None)
            self._commit(source)
        return not source.change_count

    async def store(self, name: str, topic: str, positions: dict[int, Position]) -> None:
        """Store positions of a subscription that is not live, and wait until they are on disk."""
        changes = self._changes(name, topic, positions)
        if changes:
            done: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
            self._groups.commit_held(name, changes, done.set_result)
            code = await done
            if code is not ErrorCode.NONE:
                raise KafkaError(code, "the position could not be stored")

    def stop(self, sources: Iterable[PositionSource]) -> None:
        """Write what has changed; the flush at the end of the node makes it durable."""
        for source in sources:
            while not self.write(source) and source not in self._retrying:
                pass
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """Commit a few, and the others a little later: neither the loop nor a flush round may get many at a time."""
        loop = asyncio.get_running_loop()
        end = time.perf_counter_ns() + BURST_NS
        while self._due:
            source = next(iter(self._due))
            del self._due[source]
            if source not in self._under_way and (source.change_count or source in self._waiting):
                self._commit(source)
            if self._due and time.perf_counter_ns() > end:
                self._timer = loop.call_later(BURST_PAUSE_SECONDS, self._tick)
                return
        self._timer = None
        self._not_before = loop.time() + self._interval_ms / 1000

    def _wait(self, source: PositionSource) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(source, []).append(_Waiter(done, source.change_count))
        return done

    def _commit(self, source: PositionSource) -> None:
        """Write a portion of what has changed."""
        before = source.change_count
        positions, changes = self._portion(source)
        if not changes and source in self._under_way:
            return  # callers that wait are told when that commit has ended
        waiting = self._take_waiting(source, before - source.change_count)
        if not changes:
            _tell(waiting, ErrorCode.NONE)
            if source.change_count:
                self.soon(source)
            return
        self._under_way[source] = positions

        def ended(code: ErrorCode) -> None:
            if self._under_way.get(source) is positions:
                del self._under_way[source]
            _tell(waiting, code)
            self._go_on(source, code, positions)

        try:
            self._groups.commit_held(source.name, changes, ended)
        except KafkaError as error:
            ended(error.code)

    def _portion(self, source: PositionSource) -> tuple[dict[int, Position], list[OffsetChange]]:
        positions, changes, text_bytes = dict[int, Position](), list[OffsetChange](), 0
        stored = self._as_stored(source.name, source.topic)
        for partition, position in source.take_positions(PORTION):
            if stored is None:
                continue  # the topic is gone
            positions[partition] = position
            committed = stored(position)
            changes.append(OffsetChange(source.topic, partition, committed))
            text_bytes += len(committed.metadata)
            if text_bytes > PORTION_TEXT_BYTES:
                break
        return positions, changes

    def _take_waiting(self, source: PositionSource, taken: int) -> list[_Waiter]:
        """Those that wait for nothing but the positions that have been taken now, and those under way."""
        waiting = self._waiting.pop(source, [])
        for one in waiting:
            one.ahead -= taken
        others = [one for one in waiting if one.ahead > 0]
        if others:
            self._waiting[source] = others
        return [one for one in waiting if one.ahead <= 0]

    def _go_on(self, source: PositionSource, code: ErrorCode, positions: dict[int, Position]) -> None:
        if code is not ErrorCode.NONE:
            logger.warning("positions of %s are not stored: %s", source.name, code.name)
            source.put_back(positions)
            _tell(self._waiting.pop(source, []), code)  # some of what they wait for may have been among these
            if source not in self._retrying:
                self._retrying.add(source)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._retry, source)
        elif source in self._waiting:
            self._commit(source)
        elif source.change_count:
            self.soon(source)

    def _retry(self, source: PositionSource) -> None:
        self._retrying.discard(source)
        self.soon(source)

    def _changes(self, name: str, topic: str, positions: dict[int, Position]) -> list[OffsetChange]:
        stored = self._as_stored(name, topic)
        return [] if stored is None else [OffsetChange(topic, one, stored(each)) for one, each in positions.items()]

    def _as_stored(self, name: str, topic_name: str) -> Callable[[Position], CommittedOffset] | None:
        """What makes of a position the offset that is stored now; None without the topic."""
        topic = self._topics.get(topic_name)
        if topic is None:
            return None
        now_ms, refresh_id, topic_id = self._clock.now_ms(), self._refresh_id(name), topic.topic_id
        return lambda position: CommittedOffset(
            position.offset, NO_EPOCH, encode_position(position, refresh_id), now_ms, topic_id=topic_id
        )


def _tell(waiting: Iterable[_Waiter], code: ErrorCode) -> None:
    for one in waiting:
        if one.done.done():
            continue
        if code is ErrorCode.NONE:
            one.done.set_result(None)
        else:
            one.done.set_exception(KafkaError(code, "the position could not be stored"))
