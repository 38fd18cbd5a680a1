"""Bringing an index up to the end of its log: after a start, after each flush, and from nothing when it was deleted.

There is one way into the index, from the log: so it can hold nothing that the log does not. Runs in a thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.edge.index import Index, IndexUnusable, delete_index
from penstock.edge.messages import Stored, stored
from penstock.model.errors import KafkaError
from penstock.model.records import iter_records
from penstock.storage.interface import Log

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 20
ROWS_PER_COMMIT = 10_000
PROGRESS_SECONDS = 2.0
PROGRESS_ROWS_MIN = 50_000
"""Progress is logged above this number of messages; less is done at once."""

Cancelled = Callable[[], bool]


def messages_from(source: Log, offset: int, end: int, *, read_bytes: int = READ_BYTES) -> Iterator[Stored]:
    """All messages from `offset` to `end`. KafkaError where the log is damaged."""
    while offset < end:
        piece = source.read(offset, read_bytes, end=end, one_batch_at_least=True, wait=True)
        if not len(piece.records):
            return
        for record in iter_records(bytes(piece.records)):
            if record.offset >= offset:
                yield stored(record)
        offset = piece.next_offset


def one_batch(source: Log, offset: int, end: int) -> list[Stored]:
    """The messages of the batch that holds `offset`."""
    piece = source.read(offset, 1, end=end, one_batch_at_least=True, wait=True)
    return [stored(record) for record in iter_records(bytes(piece.records))]


def open_index(path: Path, generation: str, source: Log, end: int) -> Index:
    """The one that is there if it can be used, else a new one; it may be behind. Waits for the disk."""
    try:
        index = Index(path, generation)
    except IndexUnusable as problem:
        logger.warning("the index is rebuilt: %s", problem, extra={"path": str(path)})
        delete_index(path)
        return Index(path, generation)
    problem_text = _not_of_this_log(index, source, end)
    if problem_text is None:
        return index
    logger.warning("the index is rebuilt: %s", problem_text, extra={"path": str(path)})
    index.close()
    delete_index(path)
    return Index(path, generation)


def _not_of_this_log(index: Index, source: Log, end: int) -> str | None:
    if index.covered > end:
        return f"it covers {index.covered} messages, the log has {end}"
    if index.covered == 0:
        return None
    try:
        last = next(
            (each for each in one_batch(source, index.covered - 1, end) if each.offset == index.covered - 1), None
        )
    except KafkaError:
        return None  # the log is damaged there: what the index says of it is all that is left
    if last is None or index.checksums([last.place]).get(last.place) != last.checksum:
        return "its last message is not the log's"
    return None


def catch_up(index: Index, source: Log, end: int, cancelled: Cancelled = lambda: False) -> None:
    """KafkaError where the log is damaged: everything before is covered then. IndexUnusable if the index is."""
    first = index.covered
    is_long = end - first >= PROGRESS_ROWS_MIN
    logged_at = time.monotonic()
    rows: list[Stored] = []
    try:
        for message in messages_from(source, first, end):
            rows.append(message)
            if len(rows) >= ROWS_PER_COMMIT:
                index.add(rows)
                rows = []
                if cancelled():
                    return
                if is_long and time.monotonic() - logged_at >= PROGRESS_SECONDS:
                    logged_at = time.monotonic()
                    logger.info("building the index", extra=_progress(index.covered, end))
    finally:
        if rows and not cancelled():
            index.add(rows)
    if is_long:
        logger.info("the index is complete", extra=_progress(index.covered, end))


def _progress(covered: int, end: int) -> dict[str, object]:
    return {"messages": covered, "of": end, "percent": 100 * covered // max(1, end)}
