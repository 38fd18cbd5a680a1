"""The options that make a table of a topic: its format, its columns, and the treatment of bad rows.

Spark asks for the schema first (`table_schema`) unless the user gave one, and then for a reader with that schema
(`parse_table`). So the schema of the reader always has the columns of the table; for formats whose values cannot be
read without a full schema (CSV, Avro), `valueSchema` has all fields of the values.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from penstock_spark.avro import AvroType, avro_schema, parse_avro
from penstock_spark.errors import BadOption
from penstock_spark.reading.tables.ddl import TYPES, parse_ddl
from penstock_spark.reading.tables.table import BY_DEFAULT, ERROR, EXTRA, SPARK_TYPES, BadRows, Table
from penstock_spark.reading.values.decoder import Decoder
from penstock_spark.user_options import UserOptions

FORMATS = ("avro", "csv", "json")
OF_TABLES = ("badRows", "sampleRecords", "sep", "valueSchema")
"""Options that need `valueFormat`."""

Infer = Callable[[str, str], StructType]
"""Infers the schema from a sample of the topic; takes the format and the separator of CSV."""


def value_format(given: UserOptions) -> str | None:
    text = given.text("valueFormat")
    if text is None:
        for name in OF_TABLES:
            if given.text(name) is not None:
                raise BadOption(f"{name} needs valueFormat, which is one of {', '.join(FORMATS)}")
        return None
    if text.lower() not in FORMATS:
        raise BadOption(f"valueFormat is one of {', '.join(FORMATS)}, not {text!r}")
    if text.lower() != "csv" and given.text("sep") is not None:
        raise BadOption("sep is for valueFormat=csv only")
    return text.lower()


def table_schema(given: UserOptions, infer: Infer) -> StructType:
    """The schema of a table for which `.schema(…)` was not called."""
    form = value_format(given)
    assert form is not None
    fields = _value_schema(given, form) or _inferred(given, form, infer)
    _refuse_extra(fields)
    more = ("_headers",) if given.flag("includeHeaders", default=False) else ()
    everything = {field.name: field for field in fields}
    everything |= {name: StructField(name, SPARK_TYPES[name]) for name in EXTRA}
    names = _named(given, everything) or [*fields.names, *BY_DEFAULT, *more]
    return StructType([everything[name] for name in names])


def parse_table(given: UserOptions, schema: StructType, *, upsert: bool) -> Table:
    form = value_format(given)
    assert form is not None
    _refuse_two_lists(given, schema)
    for field in schema:
        found, right = field.dataType.simpleString(), SPARK_TYPES.get(field.name, field.dataType).simpleString()
        if found != right:
            raise BadOption(f"the column {field.name} is {right.upper()}, not {found.upper()}")
    wanted = StructType([field for field in schema if field.name not in EXTRA])
    _require_nullable(schema)
    arrow = to_arrow_schema(schema, timezone="UTC")
    return Table(_decoder(given, form, wanted), arrow, _bad_rows(given, schema), needs_key=upsert)


def _decoder(given: UserOptions, form: str, wanted: StructType) -> Decoder:
    """The decoder of a format. Only its kernels are imported: a task starts sooner without the others."""
    for field in wanted:
        _require_known(field.name, field.dataType, is_flat=form == "csv")
    written = _value_schema(given, form) or wanted
    if form == "json":
        from penstock_spark.reading.values.json_values import JsonDecoder

        return JsonDecoder(wanted)
    _require_written(written, wanted)
    if form == "csv":
        from penstock_spark.reading.values.csv_values import CsvDecoder

        return CsvDecoder(written, wanted, given.text("sep") or ",")
    from penstock_spark.reading.values.avro_values import AvroDecoder

    # Columns without a schema of Avro are those of a topic that was written without one.
    return AvroDecoder(_avro(given) or parse_avro(avro_schema(written)), wanted)


def _value_schema(given: UserOptions, form: str) -> StructType | None:
    text = given.text("valueSchema")
    if text is None:
        return None
    avro = _avro(given) if form == "avro" else None
    if avro is not None:
        assert isinstance(avro.spark, StructType)
        return avro.spark
    return parse_ddl(text)


def _avro(given: UserOptions) -> AvroType | None:
    """The Avro schema; None if `valueSchema` is not in Avro's notation."""
    text = given.text("valueSchema") or ""
    return parse_avro(text) if text.lstrip().startswith(("{", "[", '"')) else None


def _inferred(given: UserOptions, form: str, infer: Infer) -> StructType:
    if form == "avro":
        raise BadOption("valueFormat=avro needs valueSchema (or .schema): values of Avro do not say what they are")
    if form == "csv" and given.text("columns") is not None:
        raise BadOption("columns with valueFormat=csv needs valueSchema, which says what else is in a line")
    found = infer(form, given.text("sep") or ",")
    return StructType([field for field in found if field.name not in EXTRA])


def _named(given: UserOptions, everything: dict[str, StructField]) -> list[str]:
    text = given.text("columns")
    if text is None:
        return []
    by_lower = {name.lower(): name for name in everything}
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in everything and name.lower() not in by_lower]
    if unknown or not names:
        raise BadOption(f"columns names {', '.join(unknown) or 'nothing'}; there are: {', '.join(everything)}")
    return list(dict.fromkeys(name if name in everything else by_lower[name.lower()] for name in names))


def _refuse_extra(fields: StructType) -> None:
    taken = [name for name in fields.names if name in EXTRA]
    if taken:
        raise BadOption(f"valueSchema names {', '.join(taken)}, a column that every table has by itself")


def _refuse_two_lists(given: UserOptions, schema: StructType) -> None:
    """Refuse `columns` and `.schema(…)` that name different columns."""
    text = given.text("columns")
    if text is None:
        return
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if set(names) != {name.lower() for name in schema.names}:
        raise BadOption("columns and the schema name different columns; one of them is enough")


def _require_nullable(schema: StructType) -> None:
    for field in schema:
        if not field.nullable:
            raise BadOption(f"{field.name} is NOT NULL, but a bad row has null in every column of its value")


def _require_known(name: str, kind: DataType, *, is_flat: bool) -> None:
    if isinstance(kind, StructType | ArrayType | MapType) and is_flat:
        raise BadOption(f"{name} is {kind.simpleString().upper()}, and a field of CSV has nothing in it")
    if isinstance(kind, StructType):
        for field in kind:
            _require_known(f"{name}.{field.name}", field.dataType, is_flat=is_flat)
    elif isinstance(kind, ArrayType):
        _require_known(name, kind.elementType, is_flat=is_flat)
    elif isinstance(kind, MapType):
        if not isinstance(kind.keyType, StringType):
            raise BadOption(f"{name} is a map whose keys are not STRING")
        _require_known(name, kind.valueType, is_flat=is_flat)
    elif kind.simpleString().partition("(")[0].upper() not in _KNOWN:
        raise BadOption(f"{name} is {kind.simpleString().upper()}; there are: {', '.join(TYPES)}")


_KNOWN = {name.partition("(")[0] for name in TYPES}


def _require_written(written: StructType, wanted: StructType) -> None:
    types = {field.name: field.dataType.simpleString().upper() for field in written}
    for field in wanted:
        asked = field.dataType.simpleString().upper()
        if types.get(field.name) != asked:
            there = f"has it as {types[field.name]}" if field.name in types else "does not have it"
            raise BadOption(f"the schema has {field.name} as {asked}, valueSchema {there}")


def _bad_rows(given: UserOptions, schema: StructType) -> BadRows:
    """The treatment of bad rows. Quarantine needs the column `_error`: a bad row would look like a row of nulls."""
    text = given.text("badRows")
    has_place = ERROR in schema.names
    if text is None:
        return BadRows.QUARANTINE if has_place else BadRows.FAIL
    try:
        found = BadRows(text.lower())
    except ValueError:
        raise BadOption(f"badRows is one of {', '.join(each.value for each in BadRows)}, not {text!r}") from None
    if found is BadRows.QUARANTINE and not has_place:
        raise BadOption("badRows=quarantine needs the column _error STRING, which has the reason")
    return found
