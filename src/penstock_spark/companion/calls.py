"""What the part in the JVM can ask for. Each method is a call; its arguments are the fields of the call's header.

The objects are those of the Python source (`penstock_spark.source`), which Spark uses itself where there is no jar.
Options come as the user gave them, schemas and offsets as JSON.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows
from pyspark.sql.types import StructType

from penstock_spark.companion.stages import Stages
from penstock_spark.companion.tasks import MESSAGE, ReadTask, WriteTask, command, pickled, unpickled
from penstock_spark.reading.batch_reader import BatchReader
from penstock_spark.reading.stream_reader import StreamReader
from penstock_spark.source import PenstockDataSource
from penstock_spark.writing.ahead import Ahead, Transaction
from penstock_spark.writing.batch_writer import BatchWriter
from penstock_spark.writing.options import Delivery
from penstock_spark.writing.stream_writer import StreamWriter
from penstock_spark.writing.task_output import Rows

Answer = tuple[dict[str, Any], Sequence[bytes]]
Options = dict[str, str]
WRITES_WITHOUT = 10
"""Of a query, after one whose tasks took so long that what was sent ahead was in vain."""
WITH_PARTS = {"commit", "commit_batch"}
"""Calls that are given parts, if there are any."""


class Calls:
    """Called by several threads; a stream is used by one at a time."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._streams: dict[int, tuple[StreamReader, StructType]] = {}
        self._stages = Stages()
        self._ahead: dict[int, Ahead] = {}  # by the number of the write
        self._slow: dict[str, int] = {}  # queries whose tasks took too long for it: writes until it is tried again

    def close(self) -> None:
        for ahead in [*self._ahead.values()]:
            ahead.drop()
        self._stages.close()

    def schema(self, *, options: Options) -> Answer:
        return {"schema": _source(options).schema().json()}, []

    def plan(self, *, options: Options, schema: str, may_be_rows: bool) -> Answer:
        """The ranges of a batch query for its tasks, after the task itself; or the rows of each range."""
        columns = _schema(schema)
        reader = _source(options).reader(columns)
        assert isinstance(reader, BatchReader)
        ranges = reader.partitions()
        rows = _rows(reader, ranges, columns) if may_be_rows else None
        if rows is not None:
            return {"are_rows": True}, rows
        return {"are_rows": False}, [command(ReadTask(reader), columns), *map(pickled, ranges)]

    # --- streams -----------------------------------------------------------------------------------------------------

    def open_stream(self, *, options: Options, schema: str) -> Answer:
        """The number of a new stream, how much it wants in a batch, and its task."""
        columns, number = _schema(schema), next(self._numbers)
        reader = _source(options).streamReader(columns)
        limit = reader.getDefaultReadLimit()
        assert isinstance(reader, StreamReader)
        self._streams[number] = reader, columns
        return {"stream": number, "limit": _told_limit(limit)}, [command(ReadTask(reader), columns)]

    def initial_offset(self, *, stream: int) -> Answer:
        return {"offset": json.dumps(self._reader(stream).initialOffset())}, []

    def prepare_available_now(self, *, stream: int) -> Answer:
        self._reader(stream).prepareForTriggerAvailableNow()
        return {}, []

    def latest_offset(self, *, stream: int, start: str, limit: dict[str, int]) -> Answer:
        reader = self._reader(stream)
        offset = reader.latestOffset(json.loads(start), _limit(limit))
        newest = reader.reportLatestOffset()
        return {"offset": json.dumps(offset), "newest": None if newest is None else json.dumps(newest)}, []

    def plan_stream(self, *, stream: int, start: str, end: str, may_be_rows: bool) -> Answer:
        reader, columns = self._streams[stream]
        ranges = reader.partitions(json.loads(start), json.loads(end))
        rows = _rows(reader, ranges, columns) if may_be_rows else None
        return {"are_rows": rows is not None}, [*map(pickled, ranges)] if rows is None else rows

    def close_stream(self, *, stream: int) -> Answer:
        reader, _ = self._streams.pop(stream)
        reader.stop()
        return {}, []

    def _reader(self, stream: int) -> StreamReader:
        return self._streams[stream][0]

    # --- writing -----------------------------------------------------------------------------------------------------

    def open_write(
        self,
        *,
        options: Options,
        schema: str,
        streaming: bool,
        overwrite: bool,
        directory: str | None,
        query: str,
        batch: int | None,
    ) -> Answer:
        """The task of a write, its number, and how many bytes of rows a task may leave to the driver.

        In `directory` tasks may leave files; `batch` is that of a stream.
        """
        writer = _writer(options, schema, streaming, overwrite)
        number, files = (0, None) if directory is None else self._stages.open(directory)
        writer.options = replace(writer.options, directory=files)
        task, rows_bytes_max = command(WriteTask(writer), MESSAGE), writer.options.rows_bytes_max
        work = None if self._is_slow(query) else _work(writer, query, batch)
        if files is not None and work is not None:
            self._ahead[number] = Ahead(files, work)
        return {"write": number, "rows_bytes_max": rows_bytes_max}, [task]

    def abandon_write(self, *, write: int) -> Answer:
        """Note that a write has failed before it could be committed."""
        self._end_write(write)
        return {}, []

    def _end_write(self, write: int, query: str | None = None) -> None:
        """Let go of all that belongs to it; `query` may have more of them."""
        ahead = self._ahead.pop(write, None)
        if ahead is not None:
            ahead.drop()
            if ahead.gave_up and query is not None:
                self._slow[query] = WRITES_WITHOUT
        self._stages.remove(write)

    def _is_slow(self, query: str) -> bool:
        """Whether a query has had a write lately whose tasks took too long to send anything before they were done."""
        left = self._slow.pop(query, 0)
        if left > 1:
            self._slow[query] = left - 1
        return left > 0

    def commit(
        self,
        parts: Sequence[bytes],
        *,
        options: Options,
        schema: str,
        query: str,
        write: int,
        tasks: Sequence[int | None],
    ) -> Answer:
        """Commit a batch write. `tasks` has the number of the task for each part that is rows."""
        writer = _writer(options, schema, streaming=False)
        assert isinstance(writer, BatchWriter)
        writer.ahead = self._ahead.get(write)
        try:
            writer.commit(_messages(parts, query, tasks))
        finally:
            self._end_write(write)
        return {}, []

    def commit_batch(
        self,
        parts: Sequence[bytes],
        *,
        options: Options,
        schema: str,
        query: str,
        write: int,
        tasks: Sequence[int | None],
        batch: int,
        abort: bool,
    ) -> Answer:
        """Commit a batch of a stream, or abort it."""
        writer = _writer(options, schema, streaming=True)
        assert isinstance(writer, StreamWriter)
        writer.ahead = self._ahead.get(write)
        try:
            (writer.abort if abort else writer.commit)(_messages(parts, query, tasks), batch)
        finally:
            self._end_write(write, query)
        return {}, []


def _source(options: Options) -> PenstockDataSource:
    return PenstockDataSource(options=CaseInsensitiveDict(options))


def _schema(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))


def _rows(
    reader: BatchReader | StreamReader, ranges: Sequence[InputPartition], columns: StructType
) -> list[bytes] | None:
    from penstock_spark.companion.small_reads import small_rows

    return small_rows(reader.hasty(), ranges, to_arrow_schema(columns, timezone="UTC"))


def _told_limit(limit: ReadLimit) -> dict[str, int]:
    match limit:
        case ReadMaxRows(max_rows):
            return {"most": max_rows}
        case ReadMinRows(min_rows):
            return {"least": min_rows}
        case _:
            return {}


def _limit(told: dict[str, int]) -> ReadLimit:
    if "most" in told:
        return ReadMaxRows(told["most"])
    return ReadMinRows(told["least"]) if "least" in told else ReadAllAvailable()


def _writer(options: Options, schema: str, streaming: bool, overwrite: bool = False) -> BatchWriter | StreamWriter:
    source, columns = _source(options), _schema(schema)
    made = source.streamWriter(columns, overwrite) if streaming else source.writer(columns, overwrite)
    assert isinstance(made, BatchWriter | StreamWriter)
    return made


def _work(writer: BatchWriter | StreamWriter, query: str, batch: int | None) -> Transaction | None:
    """The one transaction that a write will be; none if it is not one."""
    if writer.options.delivery is not Delivery.BY_BATCH:
        return None
    if isinstance(writer, BatchWriter):
        return writer.work()
    return None if batch is None else writer.work(query, batch)


def _messages(parts: Sequence[bytes], query: str, tasks: Sequence[int | None]) -> list[Any]:
    return [
        unpickled(part) if task is None else Rows(query, task, part) for part, task in zip(parts, tasks, strict=True)
    ]
