"""Pages of messages from the generation that is read. Runs in threads; the event loop only decides what to read.

A page ends at its limit of messages or of bytes, whichever comes first, and there is always a cursor to go on from. If
a refresh takes the generation away in the middle of reading, the page is read again from the new one, unless it was
asked for with a cursor: then it is Replaced.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, replace

from penstock.edge.catching_up import messages_from, one_batch
from penstock.edge.errors import EdgeError, NotIndexed, Replaced
from penstock.edge.generation import Generation
from penstock.edge.http.cursors import BEGINNING, TIME_MAX, Position
from penstock.edge.index import Index, IndexUnusable
from penstock.edge.messages import NotOurs, Stored
from penstock.edge.store import Store
from penstock.model.errors import KafkaError

PAGE_BYTES_MAX = 4 << 20
BATCHES_KEPT = 8
INDEX_WAIT_SECONDS = 2.0
"""The index is milliseconds behind the log, unless it is being built."""


class Unreadable(EdgeError):
    """Stored messages cannot be read from disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    messages: list[Stored]
    position: Position
    """Position at which the next page begins."""
    more: bool
    """Whether there are more messages by now."""


class Reader:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, position: Position | None, asked: Position, limit: int) -> Page:
        """Return a page from `position`, that of a cursor; without one, from `asked` in the active generation."""
        while True:
            generation = self._store.active
            name = generation.identity.id.hex
            if position is not None and position.generation != name:
                raise Replaced("the data was refreshed since this cursor was given out; ask again without it")
            start = position or replace(asked, generation=name)
            try:
                if start.order == "offset":
                    return await asyncio.to_thread(_by_offset, generation, start, limit)
                index = await self._index(generation)
                return await asyncio.to_thread(_by_time, generation, index, start, limit)
            except (KafkaError, OSError, NotOurs) as error:
                if self._store.active is generation:
                    raise Unreadable(f"the log cannot be read there: {error}") from error
            except IndexUnusable as problem:
                generation.index_failed(index, problem)

    async def latest(self, key: bytes | None) -> Stored | None:
        """The last message of a key, by the source's offsets; without a key, the last that was stored."""
        while True:
            generation = self._store.active
            try:
                if key is None:
                    return await asyncio.to_thread(_Batches(generation).at, generation.end - 1)
                index = await self._index(generation)
                return await asyncio.to_thread(_latest, generation, index, key)
            except (KafkaError, OSError, NotOurs) as error:
                if self._store.active is generation:
                    raise Unreadable(f"the log cannot be read there: {error}") from error
            except IndexUnusable as problem:
                generation.index_failed(index, problem)

    async def latest_of_each_key(self, count_max: int, bytes_max: int) -> list[Stored]:
        """The last message of each key, for handlers that start with it; of too many, those that came last."""
        generation = self._store.active
        index = await self._index(generation, wait_seconds=None)

        def read() -> list[Stored]:
            batches, found, size = _Batches(generation), deque[Stored](), 0
            for offset in reversed(index.latest_of_each_key()[-count_max:]):
                message = batches.at(offset)
                if message is not None:
                    size += _size(message)
                    if size > bytes_max:
                        break
                    found.appendleft(message)
            return list(found)

        try:
            return await asyncio.to_thread(read)
        except (KafkaError, OSError, NotOurs, IndexUnusable) as error:
            raise Unreadable(str(error)) from error

    async def _index(self, generation: Generation, wait_seconds: float | None = INDEX_WAIT_SECONDS) -> Index:
        """The index, once it covers all that is on disk. NotIndexed if that takes too long."""
        try:
            await asyncio.wait_for(generation.until_indexed(), wait_seconds)
        except TimeoutError:
            raise NotIndexed(generation.covered, generation.end) from None
        assert generation.index is not None
        return generation.index


def _by_offset(generation: Generation, start: Position, limit: int) -> Page:
    end = generation.end
    found: list[Stored] = []
    size = 0
    offset = max(start.offset, generation.data.log_start)
    for message in messages_from(generation.data, offset, end, read_bytes=min(PAGE_BYTES_MAX, 1024 * limit)):
        size += _size(message)
        if len(found) == limit or (found and size > PAGE_BYTES_MAX):
            break
        found.append(message)
    next_offset = found[-1].offset + 1 if found else offset
    return Page(messages=found, position=replace(start, offset=next_offset), more=next_offset < end)


def _by_time(generation: Generation, index: Index, start: Position, limit: int) -> Page:
    batches = _Batches(generation)
    found: list[Stored] = []
    size = 0
    after, more = start.after, True
    while len(found) < limit:
        moments = index.in_time(after, start.before_ms, start.key, limit - len(found))
        for moment in moments:
            message = batches.at(moment.offset)
            if message is not None and (start.key is None or message.key == start.key):
                size += _size(message)
                if found and size > PAGE_BYTES_MAX:
                    return Page(messages=found, position=replace(start, after=after), more=True)
                found.append(message)
            after = moment
        if not moments:
            more = False
            break
    more = more and bool(index.in_time(after, start.before_ms, start.key, 1))
    return Page(messages=found, position=replace(start, after=after), more=more)


def _latest(generation: Generation, index: Index, key: bytes) -> Stored | None:
    batches = _Batches(generation)
    for moment in index.latest_of(key, list(generation.highest)):
        message = batches.at(moment.offset)
        if message is not None and message.key == key:
            return message
    # Two keys of one hash: 2**64 to one, and then all messages of both are looked at.
    latest: Stored | None = None
    after = BEGINNING
    while moments := index.in_time(after, TIME_MAX, key, 1000):
        for after in moments:
            message = batches.at(after.offset)
            if message is not None and message.key == key and (latest is None or message.place > latest.place):
                latest = message
    return latest


class _Batches:
    """Messages by offset: the last few batches stay decoded, since requested messages are mostly close together."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._kept: deque[dict[int, Stored]] = deque(maxlen=BATCHES_KEPT)

    def at(self, offset: int) -> Stored | None:
        """Return the message at an offset; None if there is none."""
        for batch in self._kept:
            if offset in batch:
                return batch[offset]
        data, end = self._generation.data, self._generation.end
        if not data.log_start <= offset < end:
            return None
        found = {message.offset: message for message in one_batch(data, offset, end)}
        self._kept.append(found)
        return found.get(offset)


def _size(message: Stored) -> int:
    return len(message.body or b"") + len(message.key or b"")
