"""JSON objects as typed columns, nested ones included: `from_json`, by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock_spark.arrays import Bytes, Flags, Ints
from penstock_spark.reading.values.decoder import Decoder
from penstock_spark.reading.values.json_kernels import scan_items, scan_objects, scan_values
from penstock_spark.reading.values.scalars import JSON, decode_scalar
from penstock_spark.reading.values.spans import ARRAY, NULL, OBJECT, Decoded, Spans, bitmap


class JsonDecoder(Decoder):
    """A decoder of JSON. Fields are found by name, unwanted ones are skipped, of a repeated name the last counts."""

    format = "json"
    problem_texts = ("the value is empty", "the value is not a JSON object", "the value is broken JSON")

    def _columns(self, data: Bytes, starts: Ints, ends: Ints, valid: Flags, problems: Ints) -> Sequence[Decoded]:
        fields = _Fields(self.schema.names, len(starts))
        scan_values(data, starts, ends, valid, *fields.names, fields.starts, fields.ends, fields.kinds, problems)
        return [decode(fields.spans(data, index), kind) for index, kind in enumerate(self.schema.types)]


class _Fields:
    """Room for the spans of the fields of some objects."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        encoded = [name.encode() for name in names]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
        self.names = np.array(list(b"".join(encoded)), dtype=np.uint8), ends
        shape = len(names), count
        self.starts: Ints = np.zeros(shape, dtype=np.int32)
        self.ends: Ints = np.zeros(shape, dtype=np.int32)
        self.kinds: Bytes = np.full(shape, NULL, dtype=np.uint8)

    def spans(self, data: Bytes, index: int) -> Spans:
        return Spans(data, self.starts[index], self.ends[index], self.kinds[index])


def decode(spans: Spans, kind: pa.DataType) -> Decoded:
    """Spans of JSON as a column of any type."""
    if pa.types.is_struct(kind):
        return _struct(spans, kind)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _collection(spans, kind)
    return decode_scalar(spans, kind, JSON)


def _struct(spans: Spans, kind: pa.StructType) -> Decoded:
    fields = _Fields([field.name for field in kind], spans.size)
    scan_objects(*spans, *fields.names, fields.starts, fields.ends, fields.kinds)
    wrong = (spans.kinds != OBJECT) & (spans.kinds != NULL)
    arrays = []
    for index, field in enumerate(kind):
        column = decode(fields.spans(spans.data, index), field.type)
        arrays.append(column.array)
        wrong |= column.wrong
    validity = bitmap(~(wrong | spans.is_null))
    return Decoded(pa.Array.from_buffers(kind, spans.size, [validity], children=arrays), wrong)


def _collection(spans: Spans, kind: pa.DataType) -> Decoded:
    """A list, or a map with strings as keys."""
    is_map = pa.types.is_map(kind)
    wanted = OBJECT if is_map else ARRAY
    edges = np.zeros(spans.size + 1, dtype=np.int32)
    none = _room(0)
    scan_items(*spans, wanted, edges, *none, *none)
    count = int(edges[-1])
    keys, items = _room(count if is_map else 0), _room(count)
    scan_items(*spans, wanted, edges, *keys, *items)
    column = decode(Spans(spans.data, *items), kind.item_type if is_map else kind.value_type)
    child, wrong_items = column.array, column.wrong
    if is_map:
        names = decode(Spans(spans.data, *keys), kind.key_type)
        wrong_items = wrong_items | names.wrong
        entries = pa.struct([kind.key_field, kind.item_field])
        child = pa.Array.from_buffers(entries, count, [None], children=[names.array, column.array])
    wrong = (spans.kinds != wanted) & (spans.kinds != NULL)
    owners = np.repeat(np.arange(spans.size), np.diff(edges))
    wrong[owners[wrong_items]] = True
    buffers = [bitmap(~(wrong | spans.is_null)), pa.py_buffer(edges)]
    return Decoded(pa.Array.from_buffers(kind, spans.size, buffers, children=[child]), wrong)


def _room(count: int) -> tuple[Ints, Ints, Bytes]:
    return np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.uint8)
