"""Typed columns as JSON objects, column by column: no Python object per row, except for texts that must be escaped.

As in Spark's `to_json`, null fields are left out, times are ISO 8601 in UTC, and bytes are base64.
"""

from __future__ import annotations

import base64
import json

import pyarrow as pa
import pyarrow.compute as pc

from penstock_spark.errors import BadRow

_PLAIN_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_CONTROL = "[\\x00-\\x1f]"


def json_values(batch: pa.RecordBatch) -> pa.Array:
    """The JSON object of each row, as bytes."""
    return _object(batch.schema.names, batch.columns, batch.num_rows).cast(pa.binary())


def _object(names: list[str], columns: list[pa.Array], count: int) -> pa.Array:
    pieces = []
    for name, column in zip(names, columns, strict=True):
        label = f",{json.dumps(name, ensure_ascii=False)}:"
        pieces.append(pc.fill_null(_joined(label, _text(column)), ""))
    if not pieces:
        return pa.array(["{}"] * count, pa.string())
    fields = pc.binary_join_element_wise(*pieces, "")
    return _joined("{", pc.utf8_slice_codeunits(fields, 1), "}")  # without the first comma


def _joined(*parts: pa.Array | str) -> pa.Array:
    """The parts joined; null where a part is null."""
    return pc.binary_join_element_wise(*parts, "")


def _text(column: pa.Array) -> pa.Array:
    """Each value in JSON's notation; null stays null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _quoted(column.cast(pa.string()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _float(column)
    if pa.types.is_timestamp(kind):
        return _time(column)
    if pa.types.is_date(kind):
        return _joined('"', column.cast(pa.string()), '"')
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        encoded = [None if each is None else base64.b64encode(each).decode() for each in column.to_pylist()]
        return _joined('"', pa.array(encoded, pa.string()), '"')
    if pa.types.is_struct(kind):
        text = _object([field.name for field in kind], column.flatten(), len(column))
        return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))
    if pa.types.is_list(kind):
        return _list(column)
    if pa.types.is_map(kind):
        return _map(column)
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    raise BadRow(f"{kind} has no form in JSON here: cast the column")


def _quoted(column: pa.Array) -> pa.Array:
    for plain, escaped in _PLAIN_ESCAPES:
        column = pc.replace_substring(column, plain, escaped)
    if pc.any(pc.match_substring_regex(column, _CONTROL)).as_py():
        column = pa.array([None if each is None else _escape_control(each) for each in column.to_pylist()], pa.string())
    return _joined('"', column, '"')


def _escape_control(text: str) -> str:
    return "".join(each if each >= " " else f"\\u{ord(each):04x}" for each in text)


def _float(column: pa.Array) -> pa.Array:
    text = column.cast(pa.string())
    finite = pc.is_finite(column)
    if pc.all(finite).as_py() is not False:
        return text
    # JSON has no such numbers; Spark writes them as strings.
    named = pc.if_else(pc.is_nan(column), '"NaN"', pc.if_else(pc.greater(column, 0.0), '"Infinity"', '"-Infinity"'))
    return pc.if_else(finite, text, named)


def _time(column: pa.Array) -> pa.Array:
    zone = "Z" if column.type.tz else ""
    if zone:
        column = column.cast(pa.timestamp("us", tz="UTC"))
    naive = column.cast(pa.timestamp("us"))
    return _joined('"', pc.replace_substring(naive.cast(pa.string()), " ", "T"), f'{zone}"')


def _list(column: pa.Array) -> pa.Array:
    column = _compact(column)
    elements = pc.fill_null(_text(column.values), "null")
    lists = pa.ListArray.from_arrays(column.offsets, elements)
    text = _joined("[", pc.binary_join(lists, ","), "]")
    return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string())) if column.null_count else text


def _map(column: pa.Array) -> pa.Array:
    column = _compact(column)
    keys = column.keys
    names = _text(keys) if pa.types.is_string(keys.type) else _joined('"', keys.cast(pa.string()), '"')
    entries = _joined(names, ":", pc.fill_null(_text(column.items), "null"))
    lists = pa.ListArray.from_arrays(column.offsets, entries)
    text = _joined("{", pc.binary_join(lists, ","), "}")
    return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string())) if column.null_count else text


def _compact(column: pa.Array) -> pa.Array:
    """The lists with offsets from 0 on: a slice still holds the elements of its neighbours."""
    return pa.concat_arrays([column]) if not column.offset else column.take(pa.array(range(len(column))))
