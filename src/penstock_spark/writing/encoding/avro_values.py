"""Typed columns as Avro records, column by column. The bytes are the bare record, without a schema or its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock_spark.arrays import binary, sealed_binary
from penstock_spark.avro import KINDS, VARINT
from penstock_spark.errors import BadRow
from penstock_spark.writing.encoding.avro_fields import AvroField
from penstock_spark.writing.encoding.kernels import sized_bytes, varints


def avro_values(batch: pa.RecordBatch, fields: Sequence[AvroField]) -> pa.Array:
    """The Avro record of each row."""
    pieces = [_field(field, batch.column(batch.schema.get_field_index(field.name))) for field in fields]
    return _joined(*pieces)


def _joined(*pieces: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, pa.scalar(b"", pa.binary()))


def _field(field: AvroField, column: pa.Array) -> pa.Array:
    piece = _bytes(field.kind, column)
    if field.null_branch is None:
        if column.null_count:
            raise BadRow(f"the column {field.name} has null, and the Avro schema has none there")
        return piece
    null, present = (
        pa.scalar(bytes([2 * branch]), pa.binary()) for branch in (field.null_branch, 1 - field.null_branch)
    )
    return pc.fill_null(_joined(present, piece), null)


def _bytes(kind: str, column: pa.Array) -> pa.Array:
    """The encoded values of a column; null where the column is null."""
    count = len(column)
    match kind:
        case "string" | "bytes":
            source = sealed_binary(binary(column))
            ends = np.zeros(count + 1, dtype=np.int32)
            data = np.empty(int(source.ends[-1] - source.ends[0]) + 5 * count, dtype=np.uint8)
            size = sized_bytes(*source, ends, data)
        case _ if KINDS[kind].op == VARINT:
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
