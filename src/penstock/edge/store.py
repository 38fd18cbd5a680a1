"""All data of the application: the log engine, the generation that is read, and the one that a refresh fills.

    DATA/…            the log engine's own (`storage.data_directory`), a topic for each generation
    DATA/edge.json    which generation is read (`state`)
    DATA/index-N.db   the index of generation N, derived (`index`)

A refresh, step by step; whatever step it dies at, the same RESET brings it on:

    begin     the new generation exists; edge.json names it; from now on messages go there, and the old one is read
    store     … until the broker takes READY for it (`refreshing`)
    complete  its index is complete; edge.json names it as the one that is read; the old one is removed
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from penstock.config.settings import StorageSettings
from penstock.edge.errors import Unstorable
from penstock.edge.generation import Generation
from penstock.edge.index import delete_index
from penstock.edge.messages import Incoming
from penstock.edge.state import GenerationId, Refresh, State, first_generation, is_generation, load_state, save_state
from penstock.model.errors import KafkaError
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.files import Files, RealFiles
from penstock.runtime.pauses import pause_at
from penstock.storage.data_directory import DataDirectoryError
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.interface import Log, LogConfig
from penstock.storage.metadata.topics import TopicRow
from penstock.storage.observer import EngineObserver

logger = logging.getLogger(__name__)

FOREVER = LogConfig(
    cleanup_delete=False, retention_ms=-1, max_message_bytes=(1 << 31) - 1, timestamp_after_max_ms=(1 << 63) - 1
)
"""Settings of the log: nothing expires, and every message that the broker accepted is accepted."""


class Store:
    """`open`, then `start` on the event loop, `close` at the end."""

    def __init__(self, engine: DiskEngine, files: Files, state: State, config: LogConfig, clock: Clock) -> None:
        self.engine = engine
        self.state = state
        self._files = files
        self._config = config
        self._clock = clock
        self._root = engine.data.root
        self._threads = ThreadPoolExecutor(1, "edge-index")
        self._generations: dict[int, Generation] = {}  # by number
        self._storing = asyncio.Lock()

    @classmethod
    def open(
        cls,
        root: Path,
        topic: str,
        *,
        settings: StorageSettings | None = None,
        config: LogConfig = FOREVER,
        files: Files | None = None,
        clock: Clock | None = None,
        observer: EngineObserver | None = None,
    ) -> Self:
        """Take over the directory. DataDirectoryError with a message for people if that cannot be."""
        files, clock = files or RealFiles(), clock or SystemClock()
        engine = DiskEngine.open(root, settings or StorageSettings(), clock=clock, files=files, observer=observer)
        try:
            state = take_over(engine, files, topic, config)
        except BaseException:
            engine.close()
            raise
        return cls(engine, files, state, config, clock)

    async def start(self, *, background: bool = True) -> None:
        """Recover, open the logs, begin to bring the indexes up. Without `background` the caller flushes."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(self.engine.recover)
        self.engine.start(self._on_flushed, loop.call_soon_threadsafe, call_next=loop.call_soon, background=background)
        for identity in self.state.generations:
            self._start(identity)
        await asyncio.to_thread(self._remove_stray_indexes)

    async def close(self) -> None:
        for generation in self._generations.values():
            await generation.close()
        self._threads.shutdown()
        self.engine.close()

    # --- state -----------------------------------------------------------------------------------------------------

    @property
    def active(self) -> Generation:
        """The generation that is read."""
        return self._generations[self.state.active.number]

    @property
    def target(self) -> Generation:
        """The generation that is written."""
        refresh = self.state.refresh
        return self.active if refresh is None else self._generations[refresh.generation.number]

    def problem(self) -> str | None:
        """Reason why messages cannot be taken now."""
        if self.target.problem is not None:
            return self.target.problem
        return None if self.engine.accepts_writes() else "the disk is nearly full; make room on it"

    # --- storing ---------------------------------------------------------------------------------------------------

    async def store(self, messages: Sequence[Incoming]) -> list[Incoming]:
        """Store messages and return the new ones, when all are on disk. Unstorable, Diverged: acknowledge none of them.

        New messages that are on disk in spite of an error are recognised when they come again.
        """
        async with self._storing:
            return await self.target.store(messages, self._clock.now_ms())

    # --- refreshing ------------------------------------------------------------------------------------------------

    async def begin_refresh(self, refresh_id: int, ends: Mapping[int, int]) -> bool:
        """Begin a refresh at RESET. True if it is complete already, and only READY is missing."""
        async with self._storing:
            state = self.state
            if refresh_id == state.completed:
                return True
            if state.refresh is not None and state.refresh.id == refresh_id:
                if dict(state.refresh.ends) != dict(ends):
                    await self._save(replace(state, refresh=replace(state.refresh, ends=dict(ends))))
            else:
                await self._begin(Refresh(id=refresh_id, generation=state.new_generation(), ends=dict(ends)))
            await self.target.until_known()
            return False

    async def _begin(self, refresh: Refresh) -> None:
        abandoned, generation = self.state.refresh, refresh.generation
        await _durably(_create, self.engine, generation)
        pause_at("edge-created")
        try:
            await self._save(replace(self.state, refresh=refresh))
        except Unstorable:
            await _durably(self.engine.metadata.topics.delete, generation.id)
            raise
        pause_at("edge-begun")
        self.engine.declare(generation.topic, generation.partition, self._config, 0)
        self._start(generation)
        if abandoned is not None:
            await self._remove(abandoned.generation)
        logger.info("refresh begun", extra={"refresh": refresh.id, "generation": generation.number})

    def is_refreshed(self) -> bool:
        """Whether something is stored at or past all ends of the refresh under way; before them some may be missing."""
        refresh = self.state.refresh
        return refresh is not None and all(
            self.target.highest.get(partition, -1) + 1 >= end for partition, end in refresh.ends.items()
        )

    async def complete_refresh(self) -> None:
        """Switch to the new generation, whose READY the broker has accepted."""
        async with self._storing:
            state = self.state
            refresh = state.refresh
            assert refresh is not None
            await self.target.until_indexed()
            pause_at("edge-ready")
            await self._save(State(topic=state.topic, active=refresh.generation, refresh=None, completed=refresh.id))
            pause_at("edge-switched")
            await self._remove(state.active)
            pause_at("edge-removed")
            logger.info("refresh complete", extra={"refresh": refresh.id, "messages": self.active.end})

    # --- internals -------------------------------------------------------------------------------------------------

    def _start(self, identity: GenerationId) -> None:
        data = self.engine.log(identity.partition)
        generation = Generation(identity, data, self._index_path(identity.number), self._threads)
        self._generations[identity.number] = generation
        generation.start()

    async def _remove(self, identity: GenerationId) -> None:
        generation = self._generations.pop(identity.number)
        await generation.close()
        try:
            await _durably(self.engine.metadata.topics.delete, identity.id)
        except Unstorable as error:  # the next start does it: no state names it any more
            logger.warning("generation %d stays on the disk for now: %s", identity.number, error)
        else:
            self.engine.remove(identity.partition)
        await generation.remove_index()

    async def _save(self, state: State) -> None:
        await _durably(save_state, self._files, self._root, state)
        self.state = state

    def _on_flushed(self, log: Log) -> None:
        for generation in self._generations.values():
            if generation.data is log:
                generation.on_flushed()

    def _index_path(self, number: int) -> Path:
        return self._root / f"index-{number}.db"

    def _remove_stray_indexes(self) -> None:
        """Remove indexes of generations that were removed just before a crash."""
        kept = {self._index_path(identity.number) for identity in self.state.generations}
        for path in self._root.glob("index-*.db"):
            if path not in kept:
                delete_index(path)


async def _durably(write: Callable[..., None], *args: Any) -> None:
    """Run a write in a thread; Unstorable if the disk refuses it."""
    try:
        await asyncio.to_thread(write, *args)
    except (OSError, KafkaError) as error:
        raise Unstorable(f"the disk does not take it: {error}") from error


def take_over(engine: DiskEngine, files: Files, topic: str, config: LogConfig) -> State:
    """The directory's state, or a first one; generations that no state names are removed."""
    root = engine.data.root
    state = load_state(files, root)
    known = engine.metadata.topics.all()
    is_foreign = any(not is_generation(row.name) for row in known)
    if state is None or is_foreign:
        if is_foreign or engine.data.has_records():
            raise DataDirectoryError(
                f"{root} holds topics but no edge.json that explains them, so it is a broker's or has lost it; choose"
                " another directory, or restore the file from a backup"
            )
        state = State(topic=topic, active=first_generation())
        _create(engine, state.active)
        save_state(files, root, state)
        known = engine.metadata.topics.all()
    if state.topic != topic:
        raise DataDirectoryError(
            f"{root} holds the messages of topic {state.topic}, not of {topic}; choose another directory for {topic}"
        )
    wanted = {identity.id: identity for identity in state.generations}
    for row in known:
        if row.topic_id not in wanted:
            engine.metadata.topics.delete(row.topic_id)
    if missing := wanted.keys() - {row.topic_id for row in known}:
        for topic_id in missing:
            _create(engine, wanted[topic_id])
    for identity in wanted.values():
        engine.declare(identity.topic, identity.partition, config, 0)
    return state


def _create(engine: DiskEngine, identity: GenerationId) -> None:
    """Create the log of a generation, known to the engine's metadata so that its tools find it. Any thread."""
    row = TopicRow(identity.topic, identity.id, 1, internal=False, replication_factor=1)
    engine.metadata.topics.create([(row, {})])
