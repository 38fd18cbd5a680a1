"""A table of an SQLite file into a topic. The file lies below `http.test_data_dir`, and nowhere else.

All rows are read twice: first to see that every one of them becomes a message, then to write them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from penstock.broker.operations.topic_writer import Placed, TopicWriters
from penstock.bulk.encoding import Shape, encoder
from penstock.bulk.errors import BadRow, Missing, Unfit
from penstock.bulk.rows import PieceLimits, Row
from penstock.bulk.sqlite_source import SqliteSource
from penstock.node.test_endpoints.bodies import LoadBody, WrittenBody, written_body
from penstock.security.session import Session

PIECE = PieceLimits(rows=1_000, size_bytes=1 << 20)


async def load(writers: TopicWriters, data_dir: Path | None, session: Session, body: LoadBody) -> WrittenBody:
    """Load a table of a file below `data_dir`. BulkError or KafkaError if that cannot be done."""
    path = await asyncio.to_thread(allowed_file, data_dir, body.file)
    with ThreadPoolExecutor(1, "test-load") as thread:  # a single thread, as SQLite requires
        run = partial(asyncio.get_running_loop().run_in_executor, thread)
        pieces = _Pieces(path, body)
        try:
            await run(pieces.open)
            writer = writers.open(session, body.topic)
            while piece := await run(pieces.next):
                writer.check(piece)
            await run(pieces.open)
            while piece := await run(pieces.next):
                await writer.write(piece)
        finally:
            await run(pieces.close)
    return written_body(body.topic, writer)


class _Pieces:
    """The rows as records, some at a time. One thread's."""

    def __init__(self, path: Path, body: LoadBody) -> None:
        self._path = path
        self._body = body
        self._source: SqliteSource | None = None

    def open(self) -> None:
        """Begin at the first row, also if it was opened before."""
        self.close()
        body = self._body
        self._source = SqliteSource(self._path, table=body.table)
        value = "json" if body.value_column is None else f"column:{body.value_column}"
        self._encode = encoder(self._source, Shape(value, body.key_column, body.timestamp_column))

    def next(self) -> list[Placed]:
        """Empty at the end."""
        assert self._source is not None
        piece = self._source.read(PIECE)
        return [] if piece is None else list(self._records(piece.rows))

    def _records(self, rows: list[Row]) -> Iterator[Placed]:
        for row in rows:
            try:
                yield self._body.partition, self._encode(row)
            except ValueError as error:
                raise BadRow(f"row {row.number} of {self._body.table} {error}", "nothing was loaded") from None

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


def allowed_file(directory: Path | None, name: str) -> Path:
    """Return the named file, with links resolved; raises Missing or Unfit. Any thread.

    `directory` was resolved at the start, when it was compared with the data directory.
    """
    if directory is None:
        raise Unfit("no file may be loaded", "set http.test_data_dir to the directory that holds the files")
    asked = Path(name)
    if asked.is_absolute() or ".." in asked.parts or "\0" in name:
        raise Unfit(f"{name} is not below test_data_dir", "name a file by its path inside that directory, without ..")
    try:
        path = (directory / asked).resolve(strict=True)
    except (OSError, RuntimeError):
        raise Missing(f"there is no file {name} below test_data_dir") from None
    if not path.is_relative_to(directory):
        raise Unfit(f"{name} leads out of test_data_dir", "copy the file into that directory")
    if not path.is_file():
        raise Missing(f"{name} is not a file")
    return path
