"""A store of the consumer application in a directory of a test, and messages for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from penstock.config.settings import StorageSettings
from penstock.edge.catching_up import messages_from
from penstock.edge.generation import Generation
from penstock.edge.messages import Incoming, Place, Stored
from penstock.edge.store import Store

TOPIC = "price-topic"
START_MS = 1_772_461_800_000
SMALL = StorageSettings(min_free_bytes=0, reserve_bytes=0)


@contextlib.asynccontextmanager
async def opened(root: Path, topic: str = TOPIC, **options: Any) -> AsyncIterator[Store]:
    store = Store.open(root, topic, settings=SMALL, **options)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


def message(offset: int, partition: int = 0, *, key: bytes | None = b"AAPL", body: bytes | None = None) -> Incoming:
    content = b'{"price": %d}' % offset if body is None else body
    return Incoming(Place(partition, offset), START_MS + offset, key, content, (("from", b"test"),))


def messages(offsets: Iterable[int], partition: int = 0) -> list[Incoming]:
    return [message(offset, partition) for offset in offsets]


def contents(generation: Generation) -> list[Stored]:
    """Everything in the log, in its order."""
    return list(messages_from(generation.data, 0, generation.end))


def places(generation: Generation) -> list[tuple[int, int]]:
    return [tuple(each.place) for each in contents(generation)]  # type: ignore[misc]
