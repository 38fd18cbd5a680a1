"""The parent's side of the pipe: the list of topics, and their record batches from offsets on, as they are on disk.

Records are sent up to the high watermark, including those of open transactions: the child computes the last stable
offset from its own log. A pull that finds nothing waits, and the flush that raises a high watermark wakes it, as it
wakes a parked fetch; so does a change of the topics. Bytes come from the page cache, or are read in a thread. A request
may have very many partitions: they are found in turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicChange, TopicTable
from penstock.config.settings import PipeSettings, Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import FETCH_BYTES_UNDER_PRESSURE
from penstock.net.flow_control import FlowControl
from penstock.net.http.shares import Shares
from penstock.runtime.turns import Turns
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.topology.pipe.reading import PullReader
from penstock.topology.pipe.wire import PullAnswer, Pulled, PullRequest, Status, Wanted

_CHANGES_PER_START = 1_000_000
PARTITIONS_AT_ONCE_MAX = 500
"""Of a request with more of them others would notice: they are read, and their answer is written, in a thread."""


class TooManyPulls(Exception):
    """More pulls are under way than `pipe.pulls_max` allows."""


class PipeServer:
    """Answers the requests of children. Loop thread."""

    def __init__(
        self,
        *,
        settings: Settings,
        cluster_id: str,
        topics: TopicTable,
        partitions: PartitionTable,
        access: Access,
        flow: FlowControl,
        epoch: int,
    ) -> None:
        """`epoch` rises with every start of the node, and with it the version of the list of topics."""
        self._settings = settings.pipe
        self._node = settings.node.label
        self._cluster_id = cluster_id
        self._topics = topics
        self._partitions = partitions
        self._access = access
        self.flow = flow
        self._waiting: set[Callable[[], None]] = set()
        self._stopping = False
        self.topics_version = epoch * _CHANGES_PER_START
        self._places = Shares(settings.pipe.pulls_max)
        self.sent_bytes = 0
        topics.subscribe(self._topics_changed)
        access.authorizer.subscribe(self._list_changed)  # children may read others now

    def close(self) -> None:
        """Answer all waiting pulls, and accept no more."""
        self._stopping = True
        self._topics.unsubscribe(self._topics_changed)
        self._wake_all()

    @property
    def pull_count(self) -> int:
        """Pulls under way, each until its answer has been sent."""
        return self._places.taken

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def _topics_changed(self, change: TopicChange) -> None:
        self._list_changed()

    def _list_changed(self) -> None:
        self.topics_version += 1
        self._wake_all()

    def _wake_all(self) -> None:
        for wake in tuple(self._waiting):
            wake()

    # --- topics ------------------------------------------------------------------------------------------------------

    async def topics(self, session: Session) -> dict[str, Any]:
        """Everything but internal topics, and topics that the session may not read, as JSON."""
        turns = Turns()
        version, listed = self.topics_version, []
        for topic in tuple(self._topics.all()):
            if topic.internal or not self._access.shows_topic(session, Operation.READ, topic.name):
                continue
            partitions: list[dict[str, Any]] = []
            for index in range(topic.partition_count):
                await turns.pause()
                try:
                    partitions.append(_ends(self._partitions.get_by_id(topic.topic_id, index)))
                except KafkaError as error:
                    partitions.append({"error": str(error)})
            listed.append(
                {
                    "name": topic.name,
                    "id": str(topic.topic_id),
                    "mirror": topic.mirror,
                    "configs": dict(topic.configs),
                    "partitions": partitions,
                }
            )
        return {"node": self._node, "clusterId": self._cluster_id, "version": version, "topics": listed}

    # --- records -----------------------------------------------------------------------------------------------------

    @contextmanager
    def place(self, who: Principal | None) -> Iterator[None]:
        """The place of one pull, from the body of its request until its answer has been sent.

        TooManyPulls if too many are under way, or so many of this principal that too few are left for others; None
        where everybody is the same.
        """
        if not self._places.take(who):
            raise TooManyPulls(f"too many pulls are under way, {self.pull_count} in all (pipe.pulls_max)")
        try:
            yield
        finally:
            self._places.give_back(who)

    @contextmanager
    def pull(self, session: Session, request: PullRequest) -> Iterator[Pull]:
        """One pull in its place, until its answer has been sent."""
        pull = Pull(self, session, request, self._partitions, self._access, self._settings)
        try:
            yield pull
        finally:
            pull.release()

    def park(self, wake: Callable[[], None]) -> None:
        self._waiting.add(wake)

    def leave(self, wake: Callable[[], None]) -> None:
        self._waiting.discard(wake)


class Pull:
    """One request, from its arrival until its answer has been sent. The answer takes room in the flow control."""

    def __init__(
        self,
        server: PipeServer,
        session: Session,
        request: PullRequest,
        partitions: PartitionTable,
        access: Access,
        settings: PipeSettings,
    ) -> None:
        self._server = server
        self._session = session
        self._request = request
        self._partitions = partitions
        self._access = access
        self._bytes_max = min(request.bytes_max, settings.answer_bytes_max)
        self._held_bytes = 0
        self._ends: list[int] = []  # high watermarks before the last look
        self._wait_ms = min(request.wait_ms, settings.wait_ms)
        self._is_checked = any(wanted.last is not None for wanted in request.partitions)

    async def answer(self) -> PullAnswer:
        """The answer, when there is news. To be called once."""
        answer = await self._news()
        self._held_bytes = sum(len(pulled.records) for pulled in answer.partitions)
        self._server.flow.change(self._held_bytes)
        self._server.sent_bytes += self._held_bytes
        return answer

    def release(self) -> None:
        """Give the room of the answer back."""
        if self._held_bytes:
            self._server.flow.change(-self._held_bytes)
            self._held_bytes = 0

    async def _news(self) -> PullAnswer:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._wait_ms / 1000
        while True:
            pulled = await self._look()
            version = self._server.topics_version
            is_news = pulled or self._is_checked or version != self._request.topics_version
            if is_news or self._server.is_stopping or loop.time() >= deadline:
                return PullAnswer(version, pulled)
            await self._wait(deadline)

    async def _wait(self, deadline: float) -> None:
        """Wait for the next flush of a requested partition, a change of topics, or the timeout."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        timer = loop.call_at(deadline, wake)
        waits_on: list[Partition] = []
        turns = Turns()
        try:
            self._server.park(wake)
            for wanted, end in zip(self._request.partitions, self._ends, strict=True):
                partition = self._partitions.find(wanted.topic, wanted.partition)
                partition.add_data_waiter(wake)
                waits_on.append(partition)
                if partition.high_watermark > end:
                    return  # there may be news since the look at it
                await turns.pause()
            await woken
        except KafkaError:
            return  # deleted meanwhile: the next look says so
        finally:
            timer.cancel()
            self._server.leave(wake)
            for partition in waits_on:
                partition.remove_data_waiter(wake)

    async def _look(self) -> list[Pulled]:
        turns = Turns()
        targets: list[tuple[Wanted, Partition | Status]] = []
        for wanted in self._request.partitions:
            targets.append((wanted, self._find(wanted)))
            await turns.pause()
        self._ends = [-1 if isinstance(found, Status) else found.high_watermark for _, found in targets]
        # Children that do not read leave little room for the answers of others, but some.
        room = max(self._server.flow.room_bytes, FETCH_BYTES_UNDER_PRESSURE)
        reader = PullReader(min(self._bytes_max, room), self._request.batches_max)
        if len(targets) <= PARTITIONS_AT_ONCE_MAX:
            with suppress(BlockingIOError):
                return reader.read(targets, wait=False)
        return await asyncio.to_thread(reader.read, targets, wait=True)

    def _find(self, wanted: Wanted) -> Partition | Status:
        """The partition, or the status of the answer if there is none."""
        try:
            partition = self._partitions.find(wanted.topic, wanted.partition)
            self._access.check_topic(self._session, Operation.READ, partition.topic)
            return partition
        except KafkaError as error:
            return Status.UNAVAILABLE if error.code is ErrorCode.KAFKA_STORAGE_ERROR else Status.UNKNOWN


def _ends(partition: Partition) -> dict[str, Any]:
    end = partition.high_watermark
    return {"logStart": partition.log_start, "logEnd": end, "epoch": partition.epoch_at(max(0, end - 1))}
