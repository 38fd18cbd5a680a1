"""Which Avro type each column becomes: of a schema that is given, or of one that is made from the frame's.

Records of primitives, times and dates, each nullable or not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import DataType, StructType

from penstock_spark.problems import BadOption

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


@dataclass(frozen=True)
class AvroField:
    """`null_branch`: the place of null in a union of two, None if the field is no union."""

    name: str
    kind: str
    null_branch: int | None


def avro_schema(schema: StructType, name: str = "record") -> str:
    """What is written without `valueSchema`: every field a union of null and its type."""
    fields = [{"name": field.name, "type": ["null", _made(field.name, field.dataType)]} for field in schema]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def avro_fields(schema: StructType, given: str | None) -> tuple[AvroField, ...]:
    """BadOption says where schema and frame differ."""
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
    return tuple(_planned(name, kind, schema[name].dataType) for name, kind in fields.items())


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
