"""The wait of a fetch with many partitions: data in one of them does not make it look at all the others.

Each partition is remembered with what the last look found in it. One with something new for this reader is read alone
and counted again, if there can be enough for an answer by now; the fetch looks at everything once more when there is,
or when a partition has failed. So what a record costs does not grow with the partitions of a fetch that waits for it.

    Partition raises its marks > look_at    compares sizes, and reads nothing: very many may wait for the same record
    until_over                              reads what is new, a little at a time; users take turns in the line
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from penstock.broker.fetch.partition_read import FetchTarget
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.errors import KafkaError
from penstock.model.limits import FETCH_FURTHER_SEGMENTS_MAX
from penstock.protocol.kafka.fetch import READ_COMMITTED, FetchedPartition, FetchPartition, FetchRequest
from penstock.runtime.fair_line import FairLine
from penstock.runtime.turns import Steps

READ_AT_ONCE: Final = 16
"""Partitions that a fetch reads before others have a turn: well below a millisecond."""


class _Awaited:
    """One partition, called when it has something new or has failed."""

    __slots__ = ("_wait", "end", "grown", "item", "partition", "size", "stored")

    def __init__(self, wait: WideWait, partition: Partition, item: FetchPartition, end: int, size: int) -> None:
        self._wait = wait
        self.partition = partition
        self.item = item
        self.looked(end, size)

    def looked(self, end: int, size: int) -> None:
        """Remember a look, which came to `end` and found so many bytes."""
        self.end = end
        self.size = size
        # Bytes beyond the end, of an open transaction or on their way to the disk, may become visible by a small
        # marker or none at all. Then the whole log is the bound for what a reader may find.
        has_seen_all = self.partition.log_end == end
        self.stored = self.partition.size_bytes if has_seen_all else size
        self.grown = 0

    def __call__(self) -> None:
        self._wait.look_at(self)


class WideWait:
    """One wait: `begin` it, wait `until_over`, and `leave`. `bytes_max` is of a look at one partition."""

    __slots__ = (
        "_awaited",
        "_bytes_max",
        "_called",
        "_committed_only",
        "_found_bytes",
        "_grown_bytes",
        "_is_over",
        "_min_bytes",
        "_new",
        "has_news",
    )

    def __init__(self, request: FetchRequest, found_bytes: int, bytes_max: int) -> None:
        self._min_bytes = request.min_bytes
        self._bytes_max = min(request.max_bytes, bytes_max)
        self._committed_only = request.isolation == READ_COMMITTED
        self._found_bytes = found_bytes
        self._grown_bytes = 0
        """The most that there can be besides, in partitions that have grown since the last look."""
        self._awaited: list[_Awaited] = []
        self._new: dict[_Awaited, None] = {}
        self._called = asyncio.Event()
        self._is_over = False
        self.has_news = False
        """Whether another look would find something else than the last."""

    def begin(
        self,
        partitions: PartitionTable,
        looked_at: Iterable[tuple[FetchTarget, FetchedPartition]],
        wanted: list[FetchPartition],
    ) -> Steps[None]:
        """Wait for the partitions that were looked at, with what was found, and for others of a session."""
        known = set()
        for target, answer in looked_at:
            assert target.partition is not None, "a fetch with an error is answered at once"
            end = answer.last_stable if self._committed_only else answer.high_watermark
            self._add(target.partition, target.item, end, answer.size)
            known.add((target.item.topic, target.item.partition))
            yield
        if len(known) == len(wanted):
            return
        for item in wanted:
            if (item.topic, item.partition) not in known:
                try:
                    self._add(partitions.find(item.topic, item.partition), item, item.fetch_offset, 0)
                except KafkaError:  # deleted meanwhile
                    self._end_with_news()
            yield

    async def until_over(self, line: FairLine, owner: str) -> None:
        """Wait until there is enough for an answer, or until the wait is ended. `line` is that of all such waits."""
        while True:
            await self._called.wait()
            self._called.clear()
            while self._new and not self._is_over:
                await line.enter(owner)
                try:
                    self._read_some()
                    await asyncio.sleep(0)  # the place is kept: one such piece of work in each round of the loop
                finally:
                    line.leave()
            if self._is_over:
                return

    def end(self) -> None:
        """End the wait: time is up, or the node stops."""
        self._is_over = True
        self._called.set()

    def leave(self) -> Steps[None]:
        for awaited in self._awaited:
            awaited.partition.remove_data_waiter(awaited)
            yield

    def look_at(self, awaited: _Awaited) -> None:
        """Have a partition counted again if it has something new for this reader that may be enough."""
        partition = awaited.partition
        if partition.failed:
            self._end_with_news()
        elif partition.visible_end(committed_only=self._committed_only) > awaited.end and not self._is_over:
            self.has_news = True
            self._new[awaited] = None
            grown = partition.size_bytes - awaited.stored
            self._grown_bytes += grown - awaited.grown
            awaited.grown = grown
            # One that has news and has not grown was cut elsewhere meanwhile, so that sizes say nothing about it.
            if grown <= 0 or self._found_bytes + self._grown_bytes >= self._min_bytes:
                self._called.set()

    def _read_some(self) -> None:
        for _ in range(READ_AT_ONCE):
            if not self._new or self._is_over:
                break
            self._count(self._new.popitem()[0])

    def _count(self, awaited: _Awaited) -> None:
        end = awaited.partition.visible_end(committed_only=self._committed_only)
        try:
            answer, _, has_more = FetchTarget(awaited.item, awaited.partition).read(
                self._bytes_max,
                1 + FETCH_FURTHER_SEGMENTS_MAX,
                first=True,
                wait=False,
                committed_only=self._committed_only,
            )
        except BlockingIOError:  # not in the page cache: a thread has to look
            self._end_with_news()
            return
        self._found_bytes += answer.size - awaited.size
        self._grown_bytes -= awaited.grown
        awaited.looked(end, answer.size)
        if has_more or answer.error or self._found_bytes >= self._min_bytes:
            self._end_with_news()

    def _add(self, partition: Partition, item: FetchPartition, end: int, size: int) -> None:
        awaited = _Awaited(self, partition, item, end, size)
        self._awaited.append(awaited)
        partition.add_data_waiter(awaited)
        self.look_at(awaited)  # for what came since the last look

    def _end_with_news(self) -> None:
        self.has_news = True
        self.end()
