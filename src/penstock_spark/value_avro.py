"""Typed columns as Avro records, column by column. A schema is given, or made from the frame's: `avro_schema`.

Records of primitives, times and dates, each nullable or not. The bytes are the bare record, without a schema or its
number.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, StructType

from penstock_spark.encode_kernels import sized_bytes, varints
from penstock_spark.outgoing import binary
from penstock_spark.problems import BadOption, BadRow

# How Spark names its types: the Avro type that is made of each, and the types of a given schema that take it.
_MADE: dict[str, str | dict[str, str]] = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}
_TAKEN: dict[str, frozenset[str]] = {
    "boolean": frozenset({"boolean"}),
    "tinyint": frozenset({"int", "long", "float", "double"}),
    "smallint": frozenset({"int", "long", "float", "double"}),
    "int": frozenset({"int", "long", "double"}),
    "bigint": frozenset({"long"}),
    "float": frozenset({"float", "double"}),
    "double": frozenset({"double"}),
    "string": frozenset({"string", "bytes"}),
    "binary": frozenset({"bytes"}),
    "date": frozenset({"date"}),
    "timestamp": frozenset({"timestamp-micros", "timestamp-millis"}),
    "timestamp_ntz": frozenset({"local-timestamp-micros", "local-timestamp-millis"}),
}
_NOTHING = pa.scalar(b"", pa.binary())


@dataclass(frozen=True)
class AvroField:
    """`null_branch`: the place of null in a union of two, None if the field is no union."""

    name: str
    kind: str
    null_branch: int | None


@dataclass(frozen=True)
class AvroValues:
    """The named columns as one Avro record a row."""

    fields: tuple[AvroField, ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        pieces = [_field(field, batch.column(batch.schema.get_field_index(field.name))) for field in self.fields]
        return pc.binary_join_element_wise(*pieces, _NOTHING)


def avro_schema(schema: StructType, name: str = "record") -> str:
    """What is written without `valueSchema`: every field a union of null and its type."""
    fields = [{"name": field.name, "type": ["null", _made(field.name, field.dataType)]} for field in schema]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def avro_writer(schema: StructType, given: str | None) -> AvroValues:
    try:
        record: Any = json.loads(given if given is not None else avro_schema(schema))
        fields = {field["name"]: field["type"] for field in record["fields"]}
        if record["type"] != "record":
            raise ValueError("no record")
    except (ValueError, KeyError, TypeError) as error:
        raise BadOption(f"valueSchema is the JSON of an Avro record: {error}") from None
    missing, strange = set(fields) - set(schema.names), set(schema.names) - set(fields)
    if missing or strange:
        wrong = [*(f"no column {name}" for name in sorted(missing)), *(f"no field {name}" for name in sorted(strange))]
        raise BadOption(f"valueSchema and the frame differ: {', '.join(wrong)}")
    return AvroValues(tuple(_planned(name, kind, schema[name].dataType) for name, kind in fields.items()))


def _made(name: str, kind: DataType) -> str | dict[str, str]:
    try:
        return _MADE[kind.simpleString()]
    except KeyError:
        raise BadOption(f"the column {name} is {kind.simpleString()}, which is not written as Avro: cast it") from None


def _planned(name: str, avro: Any, kind: DataType) -> AvroField:
    null_branch = None
    if isinstance(avro, list):
        if len(avro) != 2 or avro.count("null") != 1:
            raise BadOption(f"valueSchema: {name} is a union of other than null and one type")
        null_branch = avro.index("null")
        avro = avro[1 - null_branch]
    found = avro.get("logicalType", avro.get("type")) if isinstance(avro, dict) else avro
    _made(name, kind)
    if found not in _TAKEN[kind.simpleString()]:
        raise BadOption(f"valueSchema: {name} is {found}, and the column is {kind.simpleString()}")
    return AvroField(name, str(found), null_branch)


def _field(field: AvroField, column: pa.Array) -> pa.Array:
    piece = _bytes(field.kind, column)
    if field.null_branch is None:
        if column.null_count:
            raise BadRow(f"the column {field.name} has null, and the Avro schema has none there")
        return piece
    null, present = (
        pa.scalar(bytes([2 * branch]), pa.binary()) for branch in (field.null_branch, 1 - field.null_branch)
    )
    return pc.fill_null(pc.binary_join_element_wise(present, piece, _NOTHING), null)


def _bytes(kind: str, column: pa.Array) -> pa.Array:
    """Null where the column is."""
    count = len(column)
    match kind:
        case "string" | "bytes":
            source = binary(column)
            ends = np.zeros(count + 1, dtype=np.int32)
            data = np.empty(int(source.ends[-1] - source.ends[0]) + 5 * count, dtype=np.uint8)
            size = sized_bytes(*source, ends, data)
        case (
            "int"
            | "long"
            | "date"
            | "timestamp-micros"
            | "timestamp-millis"
            | "local-timestamp-micros"
            | ("local-timestamp-millis")
        ):
            ends = np.zeros(count + 1, dtype=np.int32)
            data = np.empty(10 * count, dtype=np.uint8)
            size = varints(_numbers(kind, column), ends, data)
        case _:
            wanted = {"boolean": "u1", "float": "<f4", "double": "<f8"}[kind]
            filled = pc.fill_null(column, pa.scalar(0).cast(column.type)) if column.null_count else column
            numbers = np.asarray(filled.to_numpy(zero_copy_only=False)).astype(wanted)
            width = numbers.dtype.itemsize
            ends = np.arange(0, width * count + 1, width, dtype=np.int32)
            data, size = np.ascontiguousarray(numbers).view(np.uint8), width * count
    bitmap = pa.py_buffer(np.packbits(np.asarray(column.is_valid()), bitorder="little")) if column.null_count else None
    return pa.Array.from_buffers(pa.binary(), count, [bitmap, pa.py_buffer(ends), pa.py_buffer(data[:size])])


def _numbers(kind: str, column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if kind == "date":
        column = column.cast(pa.date32()).view(pa.int32())
    elif kind not in ("int", "long"):
        unit = "us" if kind.endswith("micros") else "ms"
        column = column.cast(pa.timestamp(unit, tz=column.type.tz), safe=False).view(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), dtype=np.int64)
