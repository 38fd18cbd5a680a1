"""The Avro type of each column: from a given schema, or from one that is made from the frame's.

Records of primitives, times and dates, each nullable or not.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql.types import DataType, StructType

from penstock_spark.avro import KINDS, NOTHING, UNION, AvroType, avro_schema, parse_avro
from penstock_spark.errors import BadOption


class AvroField(NamedTuple):
    """A field. `null_branch` is the place of null in a union of two, None if the field is not a union."""

    name: str
    kind: str
    null_branch: int | None


def avro_fields(schema: StructType, given: str | None) -> tuple[AvroField, ...]:
    """The Avro field of each column. BadOption says where schema and frame differ."""
    made = avro_schema(schema)  # refuses columns that cannot be written as Avro
    record = parse_avro(made if given is None else given)
    fields = dict(zip(record.names, record.children, strict=True))
    missing, strange = set(fields) - set(schema.names), set(schema.names) - set(fields)
    if missing or strange:
        wrong = [*(f"no column {name}" for name in sorted(missing)), *(f"no field {name}" for name in sorted(strange))]
        raise BadOption(f"valueSchema and the frame differ: {', '.join(wrong)}")
    return tuple(_planned(name, written, schema[name].dataType) for name, written in fields.items())


def _planned(name: str, written: AvroType, column: DataType) -> AvroField:
    null_branch = None
    if written.op == UNION:
        ops = [child.op for child in written.children]
        if len(ops) != 2:
            raise BadOption(f"valueSchema: {name} is a union of other than null and one type")
        null_branch = ops.index(NOTHING)
        written = written.children[1 - null_branch]
    found = KINDS.get(written.kind)
    if found is None or column.simpleString() not in found.takes.split():
        is_now = written.kind or written.spark.simpleString()
        raise BadOption(f"valueSchema: {name} is {is_now}, and the column is {column.simpleString()}")
    return AvroField(name, written.kind, null_branch)
