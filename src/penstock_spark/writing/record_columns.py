"""The columns of a frame that become the parts of a record. Checked on the driver, before anything runs.

Without `valueFormat` the columns are those of Spark's Kafka sink, and others are ignored, as they are there, so that a
frame that was read can be written. With it, every column is a field of the value, except `_key`, `_topic`,
`_partition`, `_headers` and `_timestamp`, which are the record's own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock_spark.errors import BadOption
from penstock_spark.writing.options import WriteOptions

if TYPE_CHECKING:
    from penstock_spark.writing.encoding.avro_fields import AvroField

logger = logging.getLogger(__name__)

_TEXT: tuple[type[DataType], ...] = (StringType, BinaryType)
_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "key": _TEXT,
    "value": _TEXT,
    "topic": (StringType,),
    "partition": (IntegerType,),
    "headers": (ArrayType,),
    "timestamp": (TimestampType, TimestampNTZType),
}
_LEFT_OUT = frozenset({"offset", "timestampType"})


@dataclass(frozen=True, kw_only=True)
class RecordColumns:
    """The source of each part of a record: names of parts to names of columns.

    The value may be built from many columns, as JSON or, with `avro`, as Avro.
    """

    parts: dict[str, str]
    value_columns: tuple[str, ...] = ()
    avro: tuple[AvroField, ...] | None = None
    topic: str | None
    key_is_text: bool


def record_columns(schema: StructType, options: WriteOptions) -> RecordColumns:
    """Map the columns of a frame. BadOption says which are missing, superfluous or of the wrong type."""
    typed = options.value_format is not None
    mark = "_" if typed else ""
    parts = {name: mark + name for name in _TYPES if mark + name in schema.names and not (typed and name == "value")}
    for part, name in parts.items():
        _check_type(part, name, schema[name].dataType)
    if "headers" in parts and not options.include_headers:
        raise BadOption(f"includeHeaders is false, and there is a column {mark}headers: leave one of them out")
    if options.topic is None and "topic" not in parts:
        raise BadOption(f"say where to: the option topic, or a column {mark}topic")
    if options.key_column is not None:
        _check_key_column(schema, parts, options.key_column)
        parts["key"] = options.key_column
    if not typed:
        _check_plain(schema, parts)
    names = _value_columns(schema) if typed else ()
    return RecordColumns(
        parts=parts,
        value_columns=names,
        avro=_avro(schema, names, options),
        topic=options.topic,
        key_is_text="key" not in parts or isinstance(schema[parts["key"]].dataType, _TEXT),
    )


def _check_type(part: str, name: str, found: DataType) -> None:
    right = isinstance(found, _TYPES[part])
    if right and isinstance(found, ArrayType):
        element = found.elementType
        right = isinstance(element, StructType) and [each.dataType for each in element] == [StringType(), BinaryType()]
    if not right:
        wanted = {
            "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
            "topic": "STRING",
            "partition": "INT",
            "timestamp": "TIMESTAMP",
        }.get(part, "STRING or BINARY")
        raise BadOption(f"the column {name} is {found.simpleString().upper()}; it must be {wanted}")


def _check_key_column(schema: StructType, parts: dict[str, str], name: str) -> None:
    if "key" in parts:
        raise BadOption("there are two keys: the column _key and the option keyColumn")
    if name not in schema.names:
        raise BadOption(f"keyColumn names {name}; there are: {', '.join(schema.names)}")
    if isinstance(schema[name].dataType, (ArrayType, StructType)):
        raise BadOption(f"keyColumn names {name}, which is {schema[name].dataType.simpleString()}: no key")


def _check_plain(schema: StructType, parts: dict[str, str]) -> None:
    if "value" not in parts:
        meant = next((name for name in schema.names if _near(name) == "value"), None)
        fix = (
            f"rename {meant} to value"
            if meant
            else "select the value AS value, or write all columns by valueFormat=json"
        )
        raise BadOption(f"there is no column value; there are: {', '.join(schema.names)}. Fix: {fix}")
    for name in schema.names:
        if near := _near(name):
            logger.warning("the column %s is not written; did you mean %s?", name, near)


def _near(name: str) -> str:
    """The part of a record that a column may have been meant for; empty if it is one, or is like none."""
    if name in _TYPES or name in _LEFT_OUT:
        return ""
    return next(iter(get_close_matches(name.lower(), _TYPES, n=1, cutoff=0.75)), "")


def _value_columns(schema: StructType) -> tuple[str, ...]:
    names = tuple(name for name in schema.names if not name.startswith("_"))
    if not names:
        raise BadOption("valueFormat needs columns to write; those that begin with an underscore are not in the value")
    return names


def _avro(schema: StructType, names: tuple[str, ...], options: WriteOptions) -> tuple[AvroField, ...] | None:
    if options.value_format == "avro":
        from penstock_spark.writing.encoding.avro_fields import avro_fields  # few writes need it

        return avro_fields(StructType([schema[name] for name in names]), options.value_schema)
    if options.value_schema is not None:
        raise BadOption("valueSchema is for valueFormat=avro")
    return None
