"""Avro schemas: the fields of a value, the Spark types they become, and the columns that can be written as them.

The types are those of Spark's `from_avro`. A union is a nullable type: `null` and one other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import types

from penstock_spark.arrays import Ints
from penstock_spark.errors import BadOption

NOTHING, BOOLEAN, VARINT, FIXED, SIZED, UNION, RECORD, LIST, MAP, ENUM = range(10)
"""The encoding of a type."""


class Kind(NamedTuple):
    """A type without parts: its encoding, the Spark type that it becomes, and the columns that are written as it."""

    plain: str
    op: int
    size: int
    spark: types.DataType
    takes: str = ""


KINDS: dict[str, Kind] = {
    "null": Kind("null", NOTHING, 0, types.NullType()),
    "boolean": Kind("boolean", BOOLEAN, 1, types.BooleanType(), "boolean"),
    "int": Kind("int", VARINT, 0, types.IntegerType(), "tinyint smallint int"),
    "long": Kind("long", VARINT, 0, types.LongType(), "tinyint smallint int bigint"),
    "float": Kind("float", FIXED, 4, types.FloatType(), "tinyint smallint float"),
    "double": Kind("double", FIXED, 8, types.DoubleType(), "tinyint smallint int float double"),
    "string": Kind("string", SIZED, 0, types.StringType(), "string"),
    "bytes": Kind("bytes", SIZED, 0, types.BinaryType(), "string binary"),
    "date": Kind("int", VARINT, 0, types.DateType(), "date"),
    "timestamp-micros": Kind("long", VARINT, 0, types.TimestampType(), "timestamp"),
    "timestamp-millis": Kind("long", VARINT, 0, types.TimestampType(), "timestamp"),
    "local-timestamp-micros": Kind("long", VARINT, 0, types.TimestampNTZType(), "timestamp_ntz"),
    "local-timestamp-millis": Kind("long", VARINT, 0, types.TimestampNTZType(), "timestamp_ntz"),
}
"""Kinds by the name of the type, or of the logical one. Without a schema, a column uses the first that takes it."""
DECIMAL = "decimal"


@dataclass(frozen=True)
class AvroType:
    op: int
    spark: types.DataType
    children: tuple[AvroType, ...] = ()
    names: tuple[str, ...] = ()
    """The names of fields, or the symbols of an enum."""
    size: int = 0
    kind: str = ""
    """One of KINDS, or DECIMAL; types with parts have none."""

    @property
    def is_millis(self) -> bool:
        return self.kind.endswith("-millis")

    def program(self) -> tuple[Ints, Ints]:
        """The type as numbers for kernels: (op, first child, count or size) of each type, and its children."""
        nodes: list[tuple[int, int, int]] = []
        children: list[int] = []

        def add(each: AvroType) -> int:
            numbers = [add(child) for child in each.children]
            nodes.append((each.op, len(children), len(numbers) or each.size))
            children.extend(numbers)
            return len(nodes) - 1

        add(self)
        return np.array(nodes, dtype=np.int32), np.array(children or [0], dtype=np.int32)


def parse_avro(text: str) -> AvroType:
    """Parse a schema. BadOption if it is not a schema of records."""
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise BadOption(f"valueSchema is not JSON: {error}") from None
    found = _Parser().parse(parsed, "")
    if found.op != RECORD:
        raise BadOption("valueSchema of avro is a record")
    return found


def avro_schema(schema: types.StructType) -> str:
    """The schema of values written without `valueSchema`: every field is a union of null and its type."""
    fields = [{"name": field.name, "type": ["null", _made(field)]} for field in schema]
    return json.dumps({"type": "record", "name": "record", "fields": fields})


def _made(field: types.StructField) -> str | dict[str, str]:
    column = field.dataType.simpleString()
    name = next((name for name, kind in KINDS.items() if column in kind.takes.split()), None)
    if name is None:
        raise BadOption(f"the column {field.name} is {column}, which is not written as Avro: cast it")
    plain = KINDS[name].plain
    return plain if plain == name else {"type": plain, "logicalType": name}


class _Parser:
    """Parser of a schema; it remembers the named types that were defined so far."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}

    def parse(self, schema: Any, space: str) -> AvroType:
        if isinstance(schema, list):
            return self._union(schema, space)
        if isinstance(schema, str):
            schema = {"type": schema}
        kind = schema.get("type") if isinstance(schema, dict) else None
        if isinstance(kind, dict | list):
            return self.parse(kind, space)
        if isinstance(kind, str) and kind in KINDS and KINDS[kind].plain == kind:
            return self._plain(schema, kind)
        match kind:
            case "record" | "enum" | "fixed":
                return self._define(schema, kind, space)
            case "array":
                item = self.parse(schema.get("items"), space)
                return AvroType(LIST, types.ArrayType(item.spark, _is_nullable(item)), (item,))
            case "map":
                item = self.parse(schema.get("values"), space)
                return AvroType(MAP, types.MapType(types.StringType(), item.spark, _is_nullable(item)), (item,))
        return self._refer(kind, space)

    def _plain(self, schema: dict[str, Any], plain: str) -> AvroType:
        """A type without parts. A logical type that is unknown, or does not fit, is ignored, as Avro demands."""
        logical = str(schema.get("logicalType", ""))
        if plain == "bytes" and logical == DECIMAL:
            return AvroType(SIZED, _decimal(schema), kind=DECIMAL)
        name = logical if logical in KINDS and KINDS[logical].plain == plain else plain
        found = KINDS[name]
        return AvroType(found.op, found.spark, size=found.size, kind=name)

    def _union(self, branches: list[Any], space: str) -> AvroType:
        children = tuple(self.parse(branch, space) for branch in branches)
        others = [child for child in children if child.op != NOTHING]
        if len(others) != 1 or len(children) > 2:
            raise BadOption(f"valueSchema has the union {json.dumps(branches)}; a union is null and one other type")
        return AvroType(UNION, others[0].spark, children)

    def _define(self, schema: dict[str, Any], kind: str, space: str) -> AvroType:
        name = str(schema.get("name", ""))
        space = str(schema.get("namespace", name.rpartition(".")[0] or space))
        full = name if "." in name or not space else f"{space}.{name}"
        self._named[full] = None
        found = self._named[full] = self._body(schema, kind, space)
        return found

    def _body(self, schema: dict[str, Any], kind: str, space: str) -> AvroType:
        if kind == "enum":
            return AvroType(ENUM, types.StringType(), names=tuple(map(str, schema["symbols"])))
        if kind == "fixed":
            spark = _decimal(schema) if schema.get("logicalType") == DECIMAL else types.BinaryType()
            return AvroType(FIXED, spark, size=int(schema["size"]))
        fields = schema.get("fields") or []
        parts = tuple(self.parse(field.get("type"), space) for field in fields)
        names = tuple(str(field.get("name")) for field in fields)
        spark_fields = [types.StructField(name, each.spark) for name, each in zip(names, parts, strict=True)]
        if not names or len(set(names)) < len(names):
            raise BadOption("valueSchema has a record without fields, or with two of one name")
        return AvroType(RECORD, types.StructType(spark_fields), parts, names)

    def _refer(self, name: Any, space: str) -> AvroType:
        for full in (name, f"{space}.{name}"):
            if isinstance(full, str) and full in self._named:
                found = self._named[full]
                if found is None:
                    raise BadOption(f"valueSchema: the type {name} is part of itself, which a table cannot be")
                return found
        raise BadOption(f"valueSchema has the type {name!r}, which Avro does not know")


def _is_nullable(each: AvroType) -> bool:
    return each.op in (UNION, NOTHING)


def _decimal(schema: dict[str, Any]) -> types.DecimalType:
    precision = int(schema.get("precision", 0))
    if not 1 <= precision <= 38:
        raise BadOption(f"valueSchema has a decimal of {precision} digits; there are 1 to 38")
    return types.DecimalType(precision, int(schema.get("scale", 0)))
