"""One generation of the data: a log, its index, and the rule that every source offset is stored once.

Stored messages are known from two places: the index, and a dictionary of those that it does not cover yet. A source
offset above the highest of its partition is new without a look, which is nearly always so; only messages that come
again, or out of order, are looked up. A flushed message is in the log for good, so it can be acknowledged; the index
follows by itself.

Used on the event loop only, except for the index, which threads fill and query.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from penstock.edge.catching_up import catch_up, open_index
from penstock.edge.errors import Diverged, Unstorable
from penstock.edge.index import Index, IndexUnusable, delete_index
from penstock.edge.messages import Incoming, NotOurs, Place, as_batches
from penstock.edge.state import GenerationId
from penstock.model.batch import read_header
from penstock.model.batch_builder import build_batch
from penstock.model.errors import KafkaError
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog

logger = logging.getLogger(__name__)

BATCH_MESSAGES_MAX = 1_000
BATCH_BYTES_MAX = 1 << 20
UNINDEXED_MAX = 20_000
"""Storing waits for the index above this, so that the dictionary of what it does not cover stays small."""
RETRY_SECONDS = 1.0
"""Pause before another try: a full disk does not recover at once."""


class Generation:
    """One copy of the topic, with its log and index, between `start` and `close`."""

    def __init__(self, identity: GenerationId, data: DiskLog, index_path: Path, threads: Executor) -> None:
        self.identity = identity
        self.data = data
        self.highest: dict[int, int] = {}
        self._index_path = index_path
        self._threads = threads
        self._index: Index | None = None
        self._building: Index | None = None  # open, and not known to be complete
        self._unindexed: dict[Place, tuple[int, int]] = {}  # checksum and offset, by rising offset
        self._flush_waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._indexed = asyncio.Event()  # replaced whenever the index has advanced
        self._wanted = asyncio.Event()
        self._problem: str | None = None
        self._is_closing = False
        self._is_broken = False
        self._indexer: asyncio.Task[None] | None = None

    @property
    def end(self) -> int:
        """End of the flushed messages: only those are shown, acknowledged and indexed."""
        return self.data.flushed

    @property
    def problem(self) -> str | None:
        """Reason why nothing can be stored here; None if it can."""
        if self._problem is None and self.data.state is LogState.DAMAGED:
            return "the log is damaged; `POST /refresh` fetches the data again"
        return self._problem

    @property
    def covered(self) -> int:
        index = self._index or self._building
        return 0 if index is None else index.covered

    @property
    def is_indexed(self) -> bool:
        """Whether it is known for every message if it is stored."""
        return self._index is not None

    @property
    def index(self) -> Index | None:
        """The index; None while it is being built."""
        return self._index

    def start(self) -> None:
        """Begin to bring the index up to the log's end, and keep it there."""
        self._wanted.set()
        self._indexer = asyncio.create_task(self._keep_indexed(), name=f"index-{self.identity.number}")

    async def close(self) -> None:
        self._is_closing = True
        self._wanted.set()
        if self._indexer is not None:
            await self._indexer
            self._indexer = None
        index, self._index, self._building = self._index or self._building, None, None
        if index is not None:
            index.close()
        self._flush_failed("the application stops")

    async def remove_index(self) -> None:
        """Remove the index of a generation that is closed and no longer needed."""
        await asyncio.get_running_loop().run_in_executor(self._threads, delete_index, self._index_path)

    # --- storing ---------------------------------------------------------------------------------------------------

    async def store(self, messages: Sequence[Incoming], now_ms: int) -> list[Incoming]:
        """Store messages and return the new ones, when all of them are on disk. One call at a time.

        Unstorable if they cannot be taken now, Diverged if one of them contradicts what is stored.
        """
        await self._until(lambda: self.is_indexed and len(self._unindexed) <= UNINDEXED_MAX)
        fresh = await self._new_ones(messages)
        if fresh and self.problem is not None:
            raise Unstorable(self.problem)
        # An earlier call may have ended with an error after it had written some: those are not on disk yet, perhaps.
        last = max((self._unindexed[each.place][1] for each in messages if each.place in self._unindexed), default=-1)
        for batch in as_batches(fresh, count_max=BATCH_MESSAGES_MAX, bytes_max=BATCH_BYTES_MAX):
            last = self._append(batch, now_ms)
        await self._until_flushed(last)
        return fresh

    async def until_known(self) -> None:
        """Wait until all stored messages are known: before that `highest` is too low."""
        await self._until(lambda: self.is_indexed)

    async def until_indexed(self) -> None:
        """Wait until everything that is on disk now is in the index, as far as it can be read."""
        end = self.end
        await self._until(lambda: self._index is not None and (self._index.covered >= end or self.problem is not None))

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._is_closing or self._indexer is None or self._indexer.done():
                raise Unstorable(self._problem or "the application stops")
            self._indexed.clear()
            await self._indexed.wait()

    async def _new_ones(self, messages: Sequence[Incoming]) -> list[Incoming]:
        """Return the messages that are not stored, each once, in the order in which they came."""
        first_of: dict[Place, Incoming] = {}
        for message in messages:
            first_of.setdefault(message.place, message)
        old = [place for place in first_of if place.offset <= self.highest.get(place.partition, -1)]
        if not old:
            return list(first_of.values())
        known = {place: self._unindexed[place][0] for place in old if place in self._unindexed}
        asked = [place for place in old if place not in known]
        known |= await self._checksums(asked)
        for place, checksum in known.items():
            if first_of[place].checksum != checksum:
                raise Diverged(
                    f"the broker sent another message under offset {place.offset} of partition {place.partition} than"
                    " the one that is stored: its topic was created again; `POST /refresh` fetches the data again"
                )
        return [message for place, message in first_of.items() if place not in known]

    async def _checksums(self, places: list[Place]) -> dict[Place, int]:
        while places:
            await self.until_known()
            index = self._index
            assert index is not None
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, index.checksums, places)
            except IndexUnusable as problem:
                self.index_failed(index, problem)
        return {}

    def _append(self, batch: Sequence[Incoming], now_ms: int) -> int:
        encoded = build_batch((message.record() for message in batch), timestamp=now_ms)
        try:
            appended = self.data.append(encoded, read_header(encoded), now_ms)
        except KafkaError as error:
            raise Unstorable(f"the log refused {len(encoded)} bytes: {error}") from error
        for index, message in enumerate(batch):
            partition, offset = message.place
            if offset > self.highest.get(partition, -1):
                self.highest[partition] = offset
            self._unindexed[message.place] = message.checksum, appended.base_offset + index
        return appended.last_offset

    async def _until_flushed(self, last_offset: int) -> None:
        if self.data.flushed > last_offset:
            return
        flushed = asyncio.get_running_loop().create_future()
        self._flush_waiters.append((last_offset, flushed))
        self.on_flushed()
        await flushed

    def on_flushed(self) -> None:
        """Note that more is on disk, or that the log has failed."""
        if self.data.state is LogState.OFFLINE:
            self._flush_failed("a flush failed; start the application again, which recovers the log")
            return
        due = [future for last, future in self._flush_waiters if last < self.data.flushed]
        self._flush_waiters = [each for each in self._flush_waiters if each[0] >= self.data.flushed]
        for future in due:
            if not future.done():
                future.set_result(None)
        self._wanted.set()

    def _flush_failed(self, reason: str) -> None:
        self._problem = reason
        waiting, self._flush_waiters = self._flush_waiters, []
        for _, future in waiting:
            if not future.done():
                future.set_exception(Unstorable(reason))

    # --- the index -------------------------------------------------------------------------------------------------

    def index_failed(self, index: Index, problem: IndexUnusable) -> None:
        """Rebuild an index that a query found unusable, from the log."""
        if self._index is not index:
            return
        logger.warning("the index is rebuilt: %s", problem, extra={"path": str(self._index_path)})
        self._index = self._building = None
        self._is_broken = True
        index.close()
        self._wanted.set()

    async def _keep_indexed(self) -> None:
        try:
            await self._index_again_and_again()
        except Exception as error:
            logger.exception("the index is given up")
            self._flush_failed(f"the index cannot be kept ({error!r}); start the application again")
        finally:
            self._indexed.set()

    async def _index_again_and_again(self) -> None:
        while not self._is_closing:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._bring_up()
            except IndexUnusable as problem:
                logger.warning("the index cannot be made: %s", problem, extra={"path": str(self._index_path)})
                await asyncio.sleep(RETRY_SECONDS)
                self._wanted.set()
            self._indexed.set()

    async def _bring_up(self) -> None:
        """Open the index if it is not open, and add to it what it lacks."""
        run = asyncio.get_running_loop().run_in_executor
        index = self._index
        if index is None:
            index = self._building = await run(self._threads, self._open)
        try:
            problem = await run(self._threads, self._catch_up, index)
            known = await run(self._threads, index.highest) if self._index is None else {}
        except IndexUnusable as error:
            self._index = index
            self.index_failed(index, error)
            await asyncio.sleep(RETRY_SECONDS)
            return
        finally:
            self._forget_indexed(index.covered)
        if problem is not None and self._problem is None:
            self._problem = f"the log cannot be read: {problem}; `POST /refresh` fetches the data again"
            logger.error(self._problem)
        for partition, offset in known.items():
            self.highest[partition] = max(offset, self.highest.get(partition, -1))
        self._index = index

    def _open(self) -> Index:
        """Thread."""
        if self._is_broken:
            delete_index(self._index_path)
            self._is_broken = False
        return open_index(self._index_path, self.identity.id.hex, self.data, self.end)

    def _catch_up(self, index: Index) -> Exception | None:
        """Thread. Returns why the log cannot be read to its end: messages before that point are in the index."""
        try:
            if index.covered < self.end:
                catch_up(index, self.data, self.end, lambda: self._is_closing)
        except (KafkaError, NotOurs) as error:
            return error
        return None

    def _forget_indexed(self, covered: int) -> None:
        while self._unindexed:
            place = next(iter(self._unindexed))
            if self._unindexed[place][1] >= covered:
                break
            del self._unindexed[place]
