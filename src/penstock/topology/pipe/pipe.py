"""The driver of a child: it asks its parent, stores, and asks again; after failures it tries the next parent.

    session    connect → list of topics → mirrors arranged → pulls until something goes wrong or changes
    pause      `poll_interval_ms`, cut short when the registry names another parent

The next pull is sent as soon as an answer is in the logs, before it is on disk: the position is the end of the log,
so a child that dies meanwhile asks for it again. A node has one pipe.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from penstock.config.settings import PipeSettings
from penstock.model.errors import KafkaError
from penstock.runtime.clock import Clock
from penstock.topology.model import Topology, TopologySource
from penstock.topology.pipe.follower import BadAnswer, PipeFollower, Store
from penstock.topology.pipe.health import PipeHealth, PipeState
from penstock.topology.pipe.interface import Connect, ParentUnavailable, PipeConnector
from penstock.topology.pipe.mirror_backend import LocalFailure, MirrorBackend
from penstock.topology.pipe.parents import Parents
from penstock.topology.pipe.refreshes import Refreshes, is_complete
from penstock.topology.pipe.wire import PullAnswer, PullRequest

logger = logging.getLogger(__name__)

T = TypeVar("T")
RETRY_MS = 250  # after a transient failure to create or alter mirrors
REFUSED_RETRY_MS = 5_000  # after mirrors were refused: there may be room by then


class Interrupted(Exception):
    """The parent changed, or a mirror was dropped: the session starts over. Not a failure."""


class Pipe:
    """`start` returns at once; a node without a parent waits until the registry names one."""

    def __init__(
        self,
        settings: PipeSettings,
        connect: Connect,
        backend: MirrorBackend,
        refreshes: Refreshes,
        clock: Clock,
        topology: TopologySource | None = None,
    ) -> None:
        self._settings = settings
        self._connect = connect
        self._topology = topology
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._unsubscribe: Callable[[], None] | None = None
        self._parents = Parents(self._assigned_parents(topology.current if topology is not None else None))
        self.backend = backend
        self.health = PipeHealth(self._settings)
        self.follower = self._new_follower()
        self.refreshes = refreshes
        self._dropping: set[str] = set()  # mirrors that are about to be dropped
        self.failure_count = 0
        self.last_failure = ""
        self._away_since_ms: int | None = self._clock.monotonic_ms()  # time since when the parent has not answered

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._topology is not None and self._settings.parent_url is None:
            self._unsubscribe = self._topology.on_change(self._topology_changed)
            self._parents.set(self._assigned_parents(self._topology.current))
        self._task = asyncio.get_running_loop().create_task(self._run(), name="pipe")

    async def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _assigned_parents(self, topology: Topology | None) -> tuple[str, ...]:
        if self._settings.parent_url is not None:
            return (self._settings.parent_url,)
        return topology.parents if topology is not None else ()

    def _topology_changed(self, topology: Topology) -> None:
        if self._parents.set(self._assigned_parents(topology)):
            logger.info("the parent is now %s", self._parents.current or "none")
            self.health.another_parent()
            self._changed.set()

    # --- following ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            url = self._parents.current
            self.backend.set_parent(url)
            if url is None:
                await self._changed.wait()
                continue
            try:
                await self._follow(url)
            except Interrupted:
                continue
            except (ParentUnavailable, BadAnswer, LocalFailure, KafkaError, ValueError) as error:
                self._note_failure(str(error))
            except Exception:
                logger.exception("the pipe failed")
                self._note_failure("a bug: see the log")
            await self._pause()

    async def _follow(self, url: str) -> None:
        connector = self._connect(url, self._settings)
        try:
            await self.backend.settle()
            follower = self._new_follower()
            parent = await self._unless_changed(connector.topics())
            is_complete = await self.backend.arrange(parent, follower)
            self.follower = follower
            await self._pull(connector, follower, is_complete=is_complete)
        finally:
            await connector.close()

    async def _pull(self, connector: PipeConnector, follower: PipeFollower, *, is_complete: bool) -> None:
        """Pull until something goes wrong. While records are stored, the next ones are already being fetched."""
        ahead: asyncio.Future[PullAnswer] | None = None
        arranged_ms = self._clock.monotonic_ms()
        try:
            while True:
                answer = await self._unless_changed(ahead or connector.pull(self._request(follower, is_complete)))
                ahead = None
                self._note_contact()
                steps = follower.digest(answer, self._clock.monotonic_ms())
                is_current = is_complete and answer.topics_version == follower.topics_version
                if steps and is_current and all(isinstance(step, Store) for step in steps):
                    ahead = asyncio.ensure_future(connector.pull(self._request(follower, is_complete)))
                if steps:
                    await self.backend.take(steps, follower)
                self._note_success()
                if self.refreshes.pending:
                    await self._tell_refreshed(follower, nothing_came=not steps)
                waited_ms = self._clock.monotonic_ms() - arranged_ms
                if not is_current or (self.backend.refused and ahead is None and waited_ms >= REFUSED_RETRY_MS):
                    is_complete = await self.backend.arrange(await self._unless_changed(connector.topics()), follower)
                    arranged_ms = self._clock.monotonic_ms()
        finally:
            if ahead is not None:
                ahead.cancel()
                await asyncio.gather(ahead, return_exceptions=True)

    async def _tell_refreshed(self, follower: PipeFollower, *, nothing_came: bool) -> None:
        if self._complete_mirrors(follower, nothing_came=nothing_came):
            await self.backend.settle()  # so that the records they are notified of can be read
            # Looked up again: a mirror may have been reset while this waited for the disk.
            await self.refreshes.tell(self._complete_mirrors(follower, nothing_came=nothing_came))

    def _complete_mirrors(self, follower: PipeFollower, *, nothing_came: bool) -> list[str]:
        mirrors = [topic for topic in self.backend.mirrors() if topic.name not in self._dropping]
        return [
            topic.name for topic in mirrors if is_complete(follower, topic.topic_id.bytes, nothing_came=nothing_came)
        ]

    def _request(self, follower: PipeFollower, is_complete: bool) -> PullRequest:
        return follower.request(self._clock.monotonic_ms(), wait_ms_max=None if is_complete else RETRY_MS)

    async def _unless_changed(self, work: Awaitable[T]) -> T:
        """Await `work`. Interrupted as soon as the parent changes or a mirror is dropped."""
        working: asyncio.Future[T] = asyncio.ensure_future(work)
        changing = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((working, changing), return_when=asyncio.FIRST_COMPLETED)
            if self._changed.is_set():
                raise Interrupted
            return working.result()
        finally:
            for task in (working, changing):
                task.cancel()
            await asyncio.gather(working, changing, return_exceptions=True)

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), self._settings.poll_interval_ms / 1000)
        except TimeoutError:
            pass

    def _new_follower(self) -> PipeFollower:
        settings = self._settings
        return PipeFollower(
            wait_ms=settings.wait_ms,
            bytes_max=settings.answer_bytes_max,
            batches_max=settings.batch_size,
            pause_ms=settings.poll_interval_ms,
        )

    # --- health ------------------------------------------------------------------------------------------------------

    def _note_contact(self) -> None:
        self._away_since_ms = None

    def _note_success(self) -> None:
        self.health.succeeded()
        self._note_lag()
        self.last_failure = ""

    def _note_failure(self, reason: str) -> None:
        self.failure_count += 1
        if self._away_since_ms is None:
            self._away_since_ms = self._clock.monotonic_ms()
        before = self.health.state
        self.health.failed()
        self._note_lag()
        if reason != self.last_failure or self.health.state is not before:
            logger.warning("the pipe is %s: %s", self.health.state.name, reason)
        self.last_failure = reason
        if self.health.failures >= self._settings.unhealthy_failures and self._parents.fail_over():
            logger.warning("trying another parent: %s", self._parents.current)
            self.health.another_parent()

    def _note_lag(self) -> None:
        self.health.lags(self.lag_ms)

    @property
    def lag_ms(self) -> int:
        """Time for which this node has been behind its parent, as far as that can be known."""
        if self.parent_url is None:
            return 0
        since = [each for each in (self._away_since_ms, self.follower.behind_since()) if each is not None]
        return self._clock.monotonic_ms() - min(since) if since else 0

    @property
    def parent_url(self) -> str | None:
        return self._parents.current

    @property
    def state(self) -> PipeState:
        self._note_lag()
        return self.health.state

    # --- operation ---------------------------------------------------------------------------------------------------

    async def reset(self, name: str | None = None) -> list[str]:
        """Drop a mirror, or every one that has diverged, and pull it again; readers are notified when it is complete.

        LookupError if there is no such mirror.
        """
        if name is None:
            chosen = [topic for topic in self.backend.mirrors() if topic.diverged]
        else:
            chosen = [topic for topic in self.backend.mirrors() if topic.name == name]
            if not chosen:
                raise LookupError(f"there is no mirror {name} here; `penstock pipe status` lists them")
        self._changed.set()  # nothing may be appended to a mirror that is being dropped
        for topic in chosen:
            self._dropping.add(topic.name)
            try:
                await self.refreshes.begin(topic.name)
                await self.backend.drop(topic)
            finally:
                self._dropping.discard(topic.name)
            logger.info("dropped the mirror %s, to be pulled again", topic.name)
        self._changed.set()
        return [topic.name for topic in chosen]

    def status(self) -> dict[str, Any]:
        """The status as JSON."""
        from penstock.topology.pipe.status import describe

        return describe(self)
