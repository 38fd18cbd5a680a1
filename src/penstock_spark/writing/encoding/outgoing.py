"""Rows that become records: the columns of an Arrow batch as plain arrays for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock_spark.arrays import (
    NO_BINARY,
    NO_INTS,
    NO_LONGS,
    Binary,
    Ints,
    Longs,
    binary,
    nulls,
    numbers,
    sealed,
    sealed_binary,
    valid,
)
from penstock_spark.errors import BadRow


class HeaderColumns(NamedTuple):
    """The headers of all rows: those of row n are number `ends[n]` to before `ends[n + 1]`."""

    ends: Ints
    names: Binary
    values: Binary


NO_HEADERS = HeaderColumns(sealed(NO_INTS), sealed_binary(NO_BINARY), sealed_binary(NO_BINARY))


class Outgoing(NamedTuple):
    """Rows to write. `topics` are indices of `topic_names`; a partition of -1 is chosen by key; without times: now."""

    row_count: int
    key: Binary
    value: Binary
    headers: HeaderColumns
    topic_names: tuple[str, ...]
    topics: Ints
    partitions: Ints
    times: Longs


def outgoing(columns: dict[str, pa.Array], count: int, topic: str | None) -> Outgoing:
    """The rows of a batch whose columns have the names of a record's parts; `topic` overrides such a column."""
    names, topics = _topics(columns.get("topic"), count, topic)
    headers = columns.get("headers")
    times = columns.get("timestamp")
    return Outgoing(
        row_count=count,
        key=sealed_binary(nulls(count) if "key" not in columns else binary(columns["key"])),
        value=sealed_binary(nulls(count) if "value" not in columns else binary(columns["value"])),
        headers=NO_HEADERS if headers is None else _headers(headers),
        topic_names=names,
        topics=topics,
        partitions=_partitions(columns.get("partition"), count),
        times=NO_LONGS if times is None else _times(times),
    )


def _topics(column: pa.Array | None, count: int, topic: str | None) -> tuple[tuple[str, ...], Ints]:
    if topic is not None:
        return (topic,), np.zeros(count, dtype=np.int32)
    if column is None:
        raise BadRow("there is neither an option nor a column topic")
    if column.null_count:
        raise BadRow("a row has null in the column topic: fill it, or name a topic for all rows with the option topic")
    encoded = column.dictionary_encode()
    return tuple(encoded.dictionary.to_pylist()), numbers(encoded.indices, np.int32).copy()


def _partitions(column: pa.Array | None, count: int) -> Ints:
    if column is None:
        return np.full(count, -1, dtype=np.int32)
    if (lowest := pc.min(column).as_py()) is not None and lowest < 0:
        raise BadRow(f"the column partition has {lowest}")
    column = column.cast(pa.int32())
    return np.where(valid(column), numbers(column, np.int32), np.int32(-1))


def _times(column: pa.Array) -> Longs:
    if column.null_count:
        raise BadRow("a row has null in the column timestamp")
    micros = column.cast(pa.timestamp("us", tz=column.type.tz)).view(pa.int64())
    return numbers(micros, np.int64) // 1000


def _headers(column: pa.ListArray) -> HeaderColumns:
    if column.null_count:
        # Bytes behind a null are undefined; a null header has none.
        column = pc.if_else(column.is_valid(), column, pa.scalar([], column.type))
    names, values = column.flatten().flatten()
    ends = np.zeros(len(column) + 1, dtype=np.int32)
    np.cumsum(numbers(column.value_lengths(), np.int32), out=ends[1:])
    if names.null_count:
        raise BadRow("a header has no key")
    return HeaderColumns(sealed(ends), sealed_binary(binary(names)), sealed_binary(binary(values)))
