"""The wait of a fetch with many partitions: data in one of them does not make it look at all the others.

Each partition is remembered with what the last look found in it. One with something new for this reader is read alone
and counted again; the fetch looks at everything once more when that is enough for an answer, or when it has failed. So
what a record costs does not grow with the partitions of the fetches that wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from penstock.broker.fetch.partition_read import FetchTarget
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.errors import KafkaError
from penstock.model.limits import FETCH_FURTHER_SEGMENTS_MAX
from penstock.protocol.kafka.fetch import READ_COMMITTED, FetchedPartition, FetchPartition, FetchRequest
from penstock.runtime.turns import Steps


class _Awaited:
    """One partition, called when it has something new or has failed."""

    __slots__ = ("_wait", "end", "item", "partition", "size")

    def __init__(self, wait: WideWait, partition: Partition, item: FetchPartition, end: int, size: int) -> None:
        self._wait = wait
        self.partition = partition
        self.item = item
        self.end = end  # where this reader stopped when it was last looked at,
        self.size = size  # having found so many bytes

    def __call__(self) -> None:
        self._wait.look_at(self)


class WideWait:
    """One wait: `begin` it, wait until it is `over`, and `leave`."""

    __slots__ = ("_awaited", "_committed_only", "_found_bytes", "_request", "has_news", "over")

    def __init__(self, request: FetchRequest, found_bytes: int) -> None:
        self._request = request
        self._committed_only = request.isolation == READ_COMMITTED
        self._found_bytes = found_bytes
        self._awaited: list[_Awaited] = []
        self.over = asyncio.Event()
        """There is enough for an answer, or somebody else has ended the wait."""
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
                    self._end()
            yield

    def leave(self) -> Steps[None]:
        for awaited in self._awaited:
            awaited.partition.remove_data_waiter(awaited)
            yield

    def look_at(self, awaited: _Awaited) -> None:
        """Count a partition again if there is something new for this reader."""
        partition = awaited.partition
        if partition.failed:
            self._end()
            return
        end = partition.visible_end(committed_only=self._committed_only)
        if end <= awaited.end or self.over.is_set():
            return
        self.has_news = True
        try:
            answer, _, has_more = FetchTarget(awaited.item, partition).read(
                self._request.max_bytes,
                1 + FETCH_FURTHER_SEGMENTS_MAX,
                first=True,
                wait=False,
                committed_only=self._committed_only,
            )
        except BlockingIOError:  # not in the page cache: a thread has to look
            self._end()
            return
        self._found_bytes += answer.size - awaited.size
        awaited.end, awaited.size = end, answer.size
        if has_more or answer.error or self._found_bytes >= self._request.min_bytes:
            self._end()

    def _add(self, partition: Partition, item: FetchPartition, end: int, size: int) -> None:
        awaited = _Awaited(self, partition, item, end, size)
        self._awaited.append(awaited)
        partition.add_data_waiter(awaited)
        self.look_at(awaited)  # for what came since the last look

    def _end(self) -> None:
        self.has_news = True
        self.over.set()
