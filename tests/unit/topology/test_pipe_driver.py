"""The pipe of one node, in one process: which parent it asks, when it tries the next, and what it says of itself."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from penstock.config.settings import PipeSettings, StorageSettings
from penstock.model.batch import stamp
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.role import Role
from penstock.storage.memory.engine import MemoryEngine
from penstock.testing.inline_worker import InlineWorker
from penstock.topology.model import Change, Topology
from penstock.topology.pipe.interface import ParentTopic, ParentTopics, ParentUnavailable
from penstock.topology.pipe.mirror_backend import MirrorBackend
from penstock.topology.pipe.pipe import Pipe
from penstock.topology.pipe.refreshes import Refreshes
from penstock.topology.pipe.wire import PullAnswer, Pulled, PullRequest, Status
from tests.support.admin_broker import AdminBroker

pytestmark = pytest.mark.feature("P-12", "P-28")

TOPIC = uuid.UUID(int=77)


class ToldTopology:
    """A TopologySource that says what the test says."""

    def __init__(self, *parents: str) -> None:
        self.current: Topology | None = topology(1, *parents)
        self._listeners: list[Change] = []

    def on_change(self, changed: Change) -> Callable[[], None]:
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def tell(self, *parents: str) -> None:
        self.current = topology(2, *parents)
        for listener in self._listeners:
            listener(self.current)


def topology(version: int, *parents: str) -> Topology:
    first, rest = (parents[0], parents[1:]) if parents else (None, ())
    return Topology(node_id="n", version=version, role=Role.L2, parent_url=first, fallbacks=rest)


class Parent:
    """A PipeConnector to a parent with three records, or to no parent."""

    def __init__(self, world: World, url: str) -> None:
        self._world = world
        self._url = url

    async def topics(self) -> ParentTopics:
        self._world.asked.append(self._url)
        if self._url not in self._world.alive:
            raise ParentUnavailable(f"{self._url} is away")
        return ParentTopics(version=1, topics=[ParentTopic(name="t", topic_id=TOPIC, partition_count=1)])

    async def pull(self, request: PullRequest) -> PullAnswer:
        await asyncio.sleep(0.005)
        if self._url not in self._world.alive:
            raise ParentUnavailable(f"{self._url} has gone")
        pulled = []
        for wanted in request.partitions:
            batch = build_batch([NewRecord(None, b"v")], timestamp=1)
            stamp(batch, wanted.offset, 0)
            data = bytes(batch) if wanted.offset < 3 else b""
            pulled.append(Pulled(wanted.topic, 0, Status.OK, 0, 3, data))
        return PullAnswer(1, pulled)

    async def close(self) -> None:
        self._world.closed += 1


class World:
    def __init__(self) -> None:
        self.engine = MemoryEngine(StorageSettings(), worker=InlineWorker())
        settings = {"poll_interval_ms": 10, "wait_ms": 100}
        self.node = AdminBroker(logs=self.engine, pipe=settings)
        self.alive: set[str] = set()
        self.asked: list[str] = []
        self.closed = 0
        self.refreshed: list[str] = []
        self.may_refresh = asyncio.Event()
        self.may_refresh.set()

    def connect(self, parent_url: str, settings: PipeSettings) -> Parent:
        return Parent(self, parent_url)

    def pipe(self, told: ToldTopology) -> Pipe:
        controller, clock, settings = self.node.controller, self.node.broker.clock, self.node.settings.pipe
        backend = MirrorBackend(settings, self.node.topics, self.node.partitions, controller.mirrors, clock)
        refreshes = Refreshes(controller.configs, [self._refreshed])
        return Pipe(settings, self.connect, backend, refreshes, clock, told)

    async def _refreshed(self, names: Sequence[str]) -> None:
        self.refreshed.extend(names)
        await self.may_refresh.wait()

    def run(self, told: ToldTopology, script: Callable[[Pipe], Awaitable[None]]) -> Pipe:
        """Let the pipe run while the script, a coroutine function, does."""

        async def all_of_it() -> Pipe:
            loop = asyncio.get_running_loop()
            on_flushed = self.node.partitions.on_flushed
            self.engine.start(on_flushed, loop.call_soon_threadsafe, background=False)
            pipe = self.pipe(told)
            pipe.start()
            try:
                await script(pipe)
            finally:
                await pipe.stop()
            return pipe

        return self.node.run(all_of_it())


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    with world.node:
        yield world


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a state of another task
            await asyncio.sleep(0.005)


def test_the_next_parent_has_its_turn_after_five_failures(world: World) -> None:
    world.alive = {"http://b"}
    told = ToldTopology("http://a", "http://b")

    async def script(pipe: Pipe) -> None:
        await until(lambda: pipe.state.name == "UNHEALTHY")
        await until(lambda: pipe.state.name == "HEALTHY")
        assert pipe.parent_url == "http://b"
        assert world.node.partitions.get("t", 0).log_end == 3
        assert pipe.status()["failures"] == 5

    world.run(told, script)
    assert world.asked == ["http://a"] * 5 + ["http://b"]
    assert world.closed == 6


def test_a_new_topology_is_obeyed_at_once(world: World) -> None:
    world.alive = {"http://a", "http://b"}
    told = ToldTopology()

    async def script(pipe: Pipe) -> None:
        assert pipe.status()["health"] == "NONE"
        told.tell("http://a")
        await until(lambda: pipe.state.name == "HEALTHY" and pipe.backend.counts.messages == 3)
        told.tell("http://b", "http://a")
        await until(lambda: world.asked == ["http://a", "http://b"])
        told.tell()
        await until(lambda: pipe.parent_url is None)

    pipe = world.run(told, script)
    assert pipe.failure_count == 0
    assert pipe.backend.counts.messages == 3  # nothing twice


def test_a_mirror_can_be_reset_without_a_parent(world: World) -> None:
    world.alive = {"http://a"}
    told = ToldTopology("http://a")

    async def script(pipe: Pipe) -> None:
        await until(lambda: pipe.backend.counts.messages == 3)
        told.tell()
        assert await pipe.reset() == []
        with pytest.raises(LookupError):
            await pipe.reset("nothing")
        assert await pipe.reset("t") == ["t"]
        assert world.node.topics.get("t") is None
        assert pipe.refreshes.pending == ["t"]
        told.tell("http://a")
        await until(lambda: world.refreshed == ["t"] and not pipe.refreshes.pending)
        assert world.node.partitions.get("t", 0).high_watermark == 3

    world.run(told, script)


def test_a_mirror_that_is_reset_while_its_readers_are_notified_notifies_them_again(world: World) -> None:
    world.alive = {"http://a"}
    told = ToldTopology("http://a")

    async def script(pipe: Pipe) -> None:
        await until(lambda: pipe.backend.counts.messages == 3)
        world.may_refresh.clear()
        await pipe.reset("t")
        await until(lambda: world.refreshed == ["t"])
        await pipe.reset("t")
        world.may_refresh.set()
        await until(lambda: world.refreshed == ["t", "t"] and not pipe.refreshes.pending)
        assert world.node.partitions.get("t", 0).high_watermark == 3

    world.run(told, script)
