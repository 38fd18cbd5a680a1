"""Avro values to typed columns, against records that fastavro has written."""

from __future__ import annotations

import datetime
import decimal
import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock_spark.avro import AvroType, avro_schema, parse_avro
from penstock_spark.errors import BadOption
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.values.avro_values import AvroDecoder
from penstock_spark.writing.encoding.avro_fields import avro_fields
from penstock_spark.writing.encoding.avro_values import avro_values

UTC = datetime.UTC


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def write(schema: dict[str, Any], row: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(dict(schema)), row)
    return file.getvalue()


def decode(written: AvroType, *values: bytes | None, wanted: StructType | None = None) -> list[tuple[Any, str]]:
    assert isinstance(written.spark, StructType)
    decoder = AvroDecoder(written, wanted or written.spark)
    typed = decoder.decode(pa.array(values, pa.binary()))
    batch = pa.RecordBatch.from_arrays(typed.columns, schema=decoder.schema)
    batch.validate(full=True)
    return [(row, decoder.reasons[problem]) for row, problem in zip(batch.to_pylist(), typed.problems, strict=True)]


def parsed(schema: dict[str, Any]) -> AvroType:
    return parse_avro(json.dumps(schema))


INNER = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": ["null", "double"]}]}
SCHEMA = record(
    n="null",
    b="boolean",
    i="int",
    l=["null", "long"],
    f="float",
    d=["double", "null"],
    y="bytes",
    s=["null", "string"],
    e={"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]},
    x={"type": "fixed", "name": "Four", "size": 4},
    day={"type": "int", "logicalType": "date"},
    ms={"type": "long", "logicalType": "timestamp-millis"},
    us={"type": "long", "logicalType": "timestamp-micros"},
    local={"type": "long", "logicalType": "local-timestamp-micros"},
    money={"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    large={"type": "fixed", "name": "Large", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 3},
    inner=INNER,
    again=["null", "Inner"],
    many={"type": "array", "items": ["null", "long"]},
    named={"type": "map", "values": {"type": "array", "items": "Inner"}},
)
times = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1))  # noqa: DTZ001
in_utc = times.map(lambda time: time.replace(tzinfo=UTC))
inner = st.builds(lambda x: {"x": x}, st.none() | st.floats(allow_nan=False))
longs = st.integers(-(1 << 63), (1 << 63) - 1)


def decimals(digits: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    limit = 10**digits - 1
    return st.integers(-limit, limit).map(
        lambda units: decimal.Decimal(units).scaleb(-scale, decimal.Context(prec=digits))
    )


rows = st.fixed_dictionaries(
    {
        "n": st.none(),
        "b": st.booleans(),
        "i": st.integers(-(1 << 31), (1 << 31) - 1),
        "l": st.none() | longs,
        "f": st.floats(width=32, allow_nan=False),
        "d": st.none() | st.floats(allow_nan=False),
        "y": st.binary(max_size=5),
        "s": st.none() | st.text(max_size=5),
        "e": st.sampled_from(["BUY", "SELL"]),
        "x": st.binary(min_size=4, max_size=4),
        "day": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
        "ms": in_utc.map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
        "us": in_utc,
        "local": times,
        "money": decimals(10, 2),
        "large": decimals(38, 3),
        "inner": inner,
        "again": st.none() | inner,
        "many": st.lists(st.none() | longs, max_size=3),
        "named": st.dictionaries(st.text(max_size=3), st.lists(inner, max_size=2), max_size=2),
    }
)


@pytest.mark.feature("X-04")
@settings(max_examples=60, deadline=None)
@given(st.lists(rows, max_size=4))
def test_it_reads_what_fastavro_writes(written: list[dict[str, Any]]) -> None:
    found = decode(parsed(SCHEMA), *(write(SCHEMA, row) for row in written))
    expected = [({**row, "named": list(row["named"].items())}, "") for row in written]
    assert found == expected


@pytest.mark.feature("X-04")
@settings(max_examples=150, deadline=None)
@given(rows, st.data())
def test_a_spoiled_row_harms_no_other(row: dict[str, Any], data: st.DataObject) -> None:
    right = write(SCHEMA, row)
    content = bytearray(right)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    good = ({**row, "named": list(row["named"].items())}, "")
    first, found, last = decode(parsed(SCHEMA), right, cut, right)
    assert (first, last) == (good, good)
    if found[1]:
        assert set(found[0].values()) == {None}


FLAT = record(a="int", b=["null", "string"])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the value is not an Avro record of this schema"),
        (b"\x02", "the value is not an Avro record of this schema"),
        (b"\x02\x00\x00", "the value is not an Avro record of this schema"),
        (b"\x02\x04", "the value is not an Avro record of this schema"),
        (b"\x02\x02\x7f", "the value is not an Avro record of this schema"),
        (b"\x02\x02\x02\xff", "b is no STRING"),
        (b"\x80\x80\x80\x80\x10\x00", "a is no INT"),
    ],
)
def test_what_does_not_fit(value: bytes, reason: str) -> None:
    nothing = {"a": None, "b": None}
    right = ({"a": 1, "b": "x"}, "")
    assert decode(parsed(FLAT), b"\x02\x02\x02x", value, None) == [right, (nothing, reason), (nothing, "")]


def test_lists_in_blocks_with_their_size_and_lists_that_never_end() -> None:
    schema = parsed(record(a={"type": "array", "items": "int"}))
    assert decode(schema, b"\x03\x04\x02\x04\x02\x06\x00") == [({"a": [1, 2, 3]}, "")]
    endless = parsed(record(a={"type": "array", "items": "null"}))
    assert decode(endless, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00")[0][1]


def test_some_fields() -> None:
    assert decode(parsed(FLAT), b"\x02\x02\x02x", wanted=parse_ddl("b STRING")) == [({"b": "x"}, "")]


@pytest.mark.feature("X-04")
def test_columns_without_a_schema_of_avro_are_those_that_the_sink_writes() -> None:
    ddl = parse_ddl("a INT, t TINYINT, s STRING, d DATE, at TIMESTAMP")
    time = datetime.datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
    rows = [
        {"a": 1, "t": -5, "s": "x", "d": time.date(), "at": time},
        {"a": None, "t": None, "s": None, "d": None, "at": None},
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(ddl, timezone="UTC"))
    values = avro_values(batch, avro_fields(ddl, None)).to_pylist()
    assert decode(parse_avro(avro_schema(ddl)), *values, wanted=ddl) == [(row, "") for row in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "valueSchema is not JSON"),
        ('"int"', "is a record"),
        (json.dumps(record()), "without fields"),
        (json.dumps(record(a="integer")), "'integer', which Avro does not know"),
        (json.dumps(record(a=["int", "string"])), "a union is null and one other type"),
        (json.dumps(record(a=["null", "Row"])), "part of itself"),
        (json.dumps(record(a={"type": "bytes", "logicalType": "decimal", "precision": 50})), "1 to 38"),
    ],
)
def test_schemas_that_no_table_has(text: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        parse_avro(text)
