"""Arrow batches of a good size from record batches.

A batch that cannot be decoded fails the query, or becomes a row of its own if the column `_corrupt` was selected.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from penstock_spark.reading.records.batches import DamagedBatch, RecordBatch
from penstock_spark.reading.records.columns import ColumnBuilder
from penstock_spark.reading.records.fetch_limits import USUAL

logger = logging.getLogger(__name__)

CHUNK_BYTES = 4 << 20


def chunks(
    found: Iterable[RecordBatch | DamagedBatch], builder: ColumnBuilder, rows_max: int = USUAL.rows
) -> Iterator[pa.RecordBatch]:
    chunk: list[RecordBatch] = []
    rows = size = 0
    for each in found:
        if isinstance(each, RecordBatch):
            chunk.append(each)
            rows += each.header.record_count
            size += len(each.payload)
        if rows >= rows_max or size >= CHUNK_BYTES or isinstance(each, DamagedBatch):
            yield from _built(chunk, builder)
            chunk, rows, size = [], 0, 0
        if isinstance(each, DamagedBatch):
            yield _row(each, builder)
    yield from _built(chunk, builder)


def _built(chunk: Sequence[RecordBatch], builder: ColumnBuilder) -> Iterator[pa.RecordBatch]:
    """Build the columns. If damage shows when records are decoded, batches are decoded one by one to find it."""
    if not chunk:
        return
    try:
        yield builder.build(chunk)
    except DamagedBatch as damage:
        if len(chunk) == 1:
            yield _row(damage, builder)
            return
        for batch in chunk:
            yield from _built([batch], builder)


def _row(damage: DamagedBatch, builder: ColumnBuilder) -> pa.RecordBatch:
    if not builder.keeps_damage:
        raise damage
    logger.warning("%s: it goes to _corrupt", damage)
    return builder.damaged(damage)
