"""Few rows come with the plan of their query, so that no worker of Python has to be asked for them.

A task in a worker costs several times as much as reading a few thousand rows, and the first one a second or two. So
ranges that have few offsets are read while the query is planned, and Spark gets the rows, as Arrow streams, instead of
ranges. Nothing else changes: whatever goes wrong here, or turns out to be large, is left to tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from penstock_spark.reading.planning.ranges import OffsetRange

logger = logging.getLogger(__name__)

OFFSETS_MAX = 50_000
"""Of all ranges together."""
BYTES_MAX = 4 << 20
RANGE_BYTES_MAX = 900 << 10
"""Spark warns of tasks above 1,000 KiB."""


class Reader(Protocol):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]: ...


class _TooMuch(Exception):
    """Rows that are better read by tasks."""


def small_rows(reader: Reader, ranges: Sequence[InputPartition], schema: pa.Schema) -> list[bytes] | None:
    """The rows of each range as an Arrow stream; None if tasks are to read them."""
    found = [each for each in ranges if isinstance(each, OffsetRange)]
    if not found or len(found) < len(ranges) or sum(each.size for each in found) > OFFSETS_MAX:
        return None
    streams: list[bytes] = []
    try:
        for each in found:
            streams.append(_stream(reader.read(each), schema))
            if sum(map(len, streams)) > BYTES_MAX:
                return None
    except _TooMuch:
        return None
    except Exception as error:  # a task that fails says so in the way that users of Spark know
        logger.debug("left to tasks: %s", error)
        return None
    return streams


def _stream(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            if sink.tell() > RANGE_BYTES_MAX:
                raise _TooMuch
    found: bytes = sink.getvalue().to_pybytes()
    return found
