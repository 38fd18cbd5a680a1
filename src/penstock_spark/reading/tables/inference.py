"""Inference of the schema of values from a sample of them.

Fields are in the order in which they were seen; a field that was always null is a STRING. Such a table has the columns
of the sample: a field that appears later is not in it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types

from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock_spark.arrays import Ints, sealed
from penstock_spark.errors import BadOption
from penstock_spark.reading.planning.selection import Selection
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.reading.values.csv_values import field_counts, parse_separator, split_lines
from penstock_spark.reading.values.scalars import CSV, decode_scalar
from penstock_spark.reading.values.spans import Spans, binary_parts

logger = logging.getLogger(__name__)

SAMPLE_RECORDS = 1000
_LONG = 1 << 63
_OF_CSV: tuple[tuple[pa.DataType, types.DataType], ...] = (
    (pa.int64(), types.LongType()),
    (pa.float64(), types.DoubleType()),
    (pa.bool_(), types.BooleanType()),
    (pa.timestamp("us", tz="UTC"), types.TimestampType()),
)


def read_sample(cluster: Cluster, selection: Selection, size: int, *, committed: bool) -> pa.Array:
    """About `size` values: the first and the last of every partition, so that old and new shapes are seen."""
    places = selection.partitions(cluster)
    each = max(1, size // (2 * max(1, len(places))))
    arrays = []
    for place, (start, end) in bounds(cluster, places, committed=committed).items():
        middle = min(start + each, end)
        for first, stop in ((start, middle), (max(middle, end - each), end)):
            for batch in RangeReader(cluster, place, first, stop, ("value",), committed=committed, tolerant=True):
                arrays.append(batch.column("value").drop_null())
    return pa.concat_arrays([pa.array([], pa.binary()), *arrays])


def inferred_schema(values: pa.Array, form: str, separator: str) -> types.StructType:
    """Infer the schema of a sample. BadOption if it has no values."""
    fields = _of_json(values.to_pylist()) if form == "json" else _of_csv(values, separator)
    if not fields:
        raise BadOption(f"the topic has no {form.upper()} from which a schema can be inferred: give valueSchema")
    return types.StructType(fields)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _of_json(values: Iterable[bytes]) -> list[types.StructField]:
    seen: types.DataType = types.StructType()
    for value in values:
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            continue  # a bad row here will be one later
        if isinstance(parsed, dict):
            seen = _merged(seen, _type_of(parsed))
    assert isinstance(seen, types.StructType)
    return [types.StructField(field.name, _settled(field.dataType)) for field in seen]


def _type_of(value: Any) -> types.DataType:
    match value:
        case None:
            return types.NullType()
        case bool():
            return types.BooleanType()
        case int():
            return types.LongType() if -_LONG <= value < _LONG else types.DecimalType(38, 0)
        case float():
            return types.DoubleType()
        case dict():
            return types.StructType([types.StructField(name, _type_of(item)) for name, item in value.items() if name])
        case list():
            found: types.DataType = types.NullType()
            for item in value:
                found = _merged(found, _type_of(item))
            return types.ArrayType(found)
    return types.StringType()


_NUMBERS = (types.LongType, types.DecimalType, types.DoubleType)


def _merged(one: types.DataType, other: types.DataType) -> types.DataType:
    """A type that fits both; STRING fits everything."""
    if one == other or isinstance(other, types.NullType):
        return one
    if isinstance(one, types.NullType):
        return other
    if isinstance(one, types.StructType) and isinstance(other, types.StructType):
        found = {field.name: field.dataType for field in one}
        for field in other:
            found[field.name] = _merged(found.get(field.name, types.NullType()), field.dataType)
        return types.StructType([types.StructField(name, kind) for name, kind in found.items()])
    if isinstance(one, types.ArrayType) and isinstance(other, types.ArrayType):
        return types.ArrayType(_merged(one.elementType, other.elementType))
    if isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS):
        return types.DoubleType() if types.DoubleType() in (one, other) else types.DecimalType(38, 0)
    return types.StringType()


def _settled(kind: types.DataType) -> types.DataType:
    """The type without unknown parts: null, and empty objects."""
    if isinstance(kind, types.ArrayType):
        return types.ArrayType(_settled(kind.elementType))
    if isinstance(kind, types.StructType) and kind.fields:
        return types.StructType([types.StructField(field.name, _settled(field.dataType)) for field in kind])
    return types.StringType() if isinstance(kind, types.NullType | types.StructType) else kind


# --- CSV -------------------------------------------------------------------------------------------------------------


def _of_csv(values: pa.Array, separator: str) -> list[types.StructField]:
    """Columns `_c0`, `_c1` … as many as most lines have, each of the first type that fits the values of those lines.

    Lines of another shape are bad rows later. They say nothing about types, and how many there are is told.
    """
    sign = parse_separator(separator)
    data, starts, ends, valid = binary_parts(values)
    counts = field_counts(data, starts, ends, valid, sign)
    usual = most_frequent(counts[counts > 0])
    if not usual:
        return []
    odd = int((counts != usual).sum())
    if odd:
        logger.warning("%d of %d lines of CSV do not have %d fields: they are bad rows", odd, len(counts), usual)
    fitting = counts == usual
    lines = sealed(starts[fitting]), sealed(ends[fitting]), sealed(valid[fitting])
    columns = split_lines(data, *lines, sign, usual, np.zeros(len(counts) - odd, dtype=np.int32))
    return [types.StructField(f"_c{index}", _type_of_csv(spans)) for index, spans in enumerate(columns)]


def _type_of_csv(spans: Spans) -> types.DataType:
    """The first type that fits all values, as Spark infers it: one that fits almost all would lose the others."""
    if spans.is_null.all():
        return types.StringType()
    fitting = (spark for kind, spark in _OF_CSV if not decode_scalar(spans, kind, CSV).wrong.any())
    return next(fitting, types.StringType())


def most_frequent(counts: Ints) -> int:
    """The number that occurs most often; of two that occur alike the larger. 0 if there is none."""
    if not len(counts):
        return 0
    found, times = np.unique(counts, return_counts=True)
    return int(found[times == times.max()].max())
