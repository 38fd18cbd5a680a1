"""Avro records as typed columns: `from_avro`, by column. A value is the bare record, with no header before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from penstock_spark.arrays import Bytes, Flags, Ints
from penstock_spark.avro import BOOLEAN, ENUM, FIXED, LIST, MAP, NOTHING, RECORD, SIZED, UNION, AvroType
from penstock_spark.reading.values.avro_kernels import (
    big_endian,
    copy_fixed,
    scan_blocks,
    scan_bodies,
    scan_branches,
    scan_fields,
    varints,
)
from penstock_spark.reading.values.decoder import Decoder
from penstock_spark.reading.values.scalars import strings, texts
from penstock_spark.reading.values.spans import NULL, TEXT, Decoded, Spans, bitmap, fixed, without

BROKEN = 1
_EPOCH_SCALE = 1000


class AvroDecoder(Decoder):
    """A decoder of Avro. `written` is the schema of the values; only some of its fields may be wanted."""

    format = "avro"
    problem_texts = ("the value is not an Avro record of this schema",)

    def __init__(self, written: AvroType, wanted: StructType) -> None:
        super().__init__(wanted)
        self._written = written
        self._places = [written.names.index(name) for name in wanted.names]

    def _columns(self, data: Bytes, starts: Ints, ends: Ints, valid: Flags, problems: Ints) -> Sequence[Decoded]:
        kinds = np.where(valid, TEXT, NULL).astype(np.uint8)
        fields, wrong = _fields(self._written, Spans(data, starts, ends, kinds))
        problems[wrong] = BROKEN
        return [
            decode(self._written.children[place], fields[place], kind)
            for place, kind in zip(self._places, self.schema.types, strict=True)
        ]


def decode(written: AvroType, spans: Spans, kind: pa.DataType) -> Decoded:
    match written.op:
        case op if op == UNION:
            return _union(written, spans, kind)
        case op if op == RECORD:
            return _struct(written, spans, kind)
        case op if op in (LIST, MAP):
            return _collection(written, spans, kind)
        case op if op == NOTHING:
            return _right(pa.nulls(spans.size, kind))
        case op if op == ENUM:
            return _symbols(written, spans)
        case op if op == SIZED:
            return _sized(spans, kind)
        case op if op in (BOOLEAN, FIXED):
            return _fixed(written, spans, kind)
    return _numbers(written, spans, kind)


def _right(array: pa.Array) -> Decoded:
    return Decoded(array, np.zeros(len(array), dtype=np.bool_))


def _fields(written: AvroType, spans: Spans) -> tuple[list[Spans], Flags]:
    nodes, children = written.program()
    shape = len(written.children), spans.size
    starts, ends = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    kinds, wrong = np.full(shape, NULL, dtype=np.uint8), np.empty(spans.size, dtype=np.bool_)
    scan_fields(*spans, nodes, children, len(nodes) - 1, starts, ends, kinds, wrong)
    return [Spans(spans.data, starts[index], ends[index], kinds[index]) for index in range(shape[0])], wrong


def _union(written: AvroType, spans: Spans, kind: pa.DataType) -> Decoded:
    """Null, or the other branch."""
    nothing = next((index for index, each in enumerate(written.children) if each.op == NOTHING), -1)
    other = next(each for each in written.children if each.op != NOTHING)
    starts, kinds = np.empty(spans.size, dtype=np.int32), np.empty(spans.size, dtype=np.uint8)
    scan_branches(*spans, nothing, starts, kinds)
    return decode(other, Spans(spans.data, starts, spans.ends, kinds), kind)


def _struct(written: AvroType, spans: Spans, kind: pa.StructType) -> Decoded:
    fields, wrong = _fields(written, spans)
    columns = [decode(each, field, part.type) for each, field, part in zip(written.children, fields, kind, strict=True)]
    for column in columns:
        wrong = wrong | column.wrong
    children = [column.array for column in columns]
    return Decoded(pa.Array.from_buffers(kind, spans.size, [bitmap(~spans.is_null)], children=children), wrong)


def _collection(written: AvroType, spans: Spans, kind: pa.DataType) -> Decoded:
    nodes, children = written.program()
    edges = np.zeros(spans.size + 1, dtype=np.int32)
    none = np.empty(0, dtype=np.int32)
    scan_blocks(*spans, nodes, children, len(nodes) - 1, edges, none, none, none, none)
    count = int(edges[-1])
    keys, items = np.zeros((2, count), dtype=np.int32), np.zeros((2, count), dtype=np.int32)
    scan_blocks(*spans, nodes, children, len(nodes) - 1, edges, keys[0], keys[1], items[0], items[1])
    there = np.full(count, TEXT, dtype=np.uint8)
    is_map = written.op == MAP
    column = decode(
        written.children[0], Spans(spans.data, items[0], items[1], there), kind.item_type if is_map else kind.value_type
    )
    child, wrong_items = column.array, column.wrong
    if is_map:
        names = _sized(Spans(spans.data, keys[0], keys[1], there), pa.string())
        wrong_items = wrong_items | names.wrong
        entries = pa.struct([kind.key_field, kind.item_field])
        child = pa.Array.from_buffers(entries, count, [None], children=[names.array, column.array])
    wrong = np.zeros(spans.size, dtype=np.bool_)
    wrong[np.repeat(np.arange(spans.size), np.diff(edges))[wrong_items]] = True
    buffers = [bitmap(~spans.is_null), pa.py_buffer(edges)]
    return Decoded(pa.Array.from_buffers(kind, spans.size, buffers, children=[child]), wrong)


def _symbols(written: AvroType, spans: Spans) -> Decoded:
    numbers = np.empty(spans.size, dtype=np.int64)
    varints(*spans, numbers)
    wrong = (numbers < 0) | (numbers >= len(written.names))
    indices = pa.array(np.where(wrong, 0, numbers), mask=wrong | spans.is_null)
    return Decoded(pa.array(written.names, pa.string()).take(indices), wrong)


def _sized(spans: Spans, kind: pa.DataType) -> Decoded:
    starts = np.empty(spans.size, dtype=np.int32)
    scan_bodies(*spans, starts)
    bodies = Spans(spans.data, starts, spans.ends, spans.kinds)
    if pa.types.is_decimal(kind):
        return _decimals(bodies, kind)
    return strings(bodies) if pa.types.is_string(kind) else _right(texts(bodies, kind))


def _fixed(written: AvroType, spans: Spans, kind: pa.DataType) -> Decoded:
    if pa.types.is_decimal(kind):
        return _decimals(spans, kind)
    if pa.types.is_binary(kind):
        return _right(texts(spans, kind))
    content = np.empty((spans.size, written.size), dtype=np.uint8)
    copy_fixed(*spans, content)
    there = ~spans.is_null
    if pa.types.is_boolean(kind):
        bits = pa.py_buffer(np.packbits(content[:, 0], bitorder="little"))
        return _right(pa.Array.from_buffers(kind, spans.size, [bitmap(there), bits]))
    return _right(fixed(kind, content, there))


def _decimals(spans: Spans, kind: pa.DataType) -> Decoded:
    values, wrong = np.empty((spans.size, 2), dtype=np.int64), np.empty(spans.size, dtype=np.bool_)
    big_endian(*spans, values, wrong)
    array = fixed(kind, values, ~(spans.is_null | wrong))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # more digits than the type has
        limit = 10**kind.precision
        units = [(int(high) << 64) + int(np.uint64(low)) for low, high in values]
        wrong |= np.array([abs(each) >= limit for each in units])
        array = without(array, wrong)
    return Decoded(array, wrong)


def _numbers(written: AvroType, spans: Spans, kind: pa.DataType) -> Decoded:
    """Integers, and the dates and times that are stored as integers."""
    numbers = np.empty(spans.size, dtype=np.int64)
    varints(*spans, numbers)
    if written.is_millis:
        limit = (1 << 63) // _EPOCH_SCALE - 1
        wrong = np.abs(numbers) > limit
        return Decoded(fixed(kind, numbers * _EPOCH_SCALE, ~(spans.is_null | wrong)), wrong)
    width = np.dtype(f"i{kind.bit_width // 8}")
    limits = np.iinfo(width)
    wrong = (numbers < limits.min) | (numbers > limits.max)
    return Decoded(fixed(kind, numbers.astype(width), ~(spans.is_null | wrong)), wrong)
