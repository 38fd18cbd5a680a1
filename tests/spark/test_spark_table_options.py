"""The options that make tables of topics: schemas, columns, bad rows, upserts; and what is refused by name."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from penstock_spark.errors import BadOption
from penstock_spark.reading.options import parse_read, source_schema
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.tables.table import BY_DEFAULT, BadRows

HERE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "prices"}
PRICES = {**HERE, "valueFormat": "json", "valueSchema": "symbol STRING, price DOUBLE"}
AVRO = '{"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}'


def names(**options: str) -> list[str]:
    found: list[str] = source_schema({**PRICES, **options}).names
    return found


def test_a_table_has_the_columns_of_values_and_of_records() -> None:
    assert names() == ["symbol", "price", *BY_DEFAULT]
    assert names(includeHeaders="true")[-1] == "_headers"
    assert names(columns="_OFFSET, price") == ["_offset", "price"]
    assert names(columns="price,_value,_corrupt") == ["price", "_value", "_corrupt"]
    avro = source_schema({**HERE, "valueFormat": "avro", "valueSchema": AVRO, "columns": "b"})
    assert avro == StructType([StructField("b", StringType())])


def test_what_is_read_for_it() -> None:
    options = parse_read(PRICES, source_schema(PRICES), streaming=True)
    assert options.table is not None
    assert options.columns == options.table.needed
    assert set(options.columns) == {"key", "topic", "partition", "offset", "timestamp", "value"}
    assert options.table.bad_rows is BadRows.QUARANTINE
    narrow = parse_read(PRICES, parse_ddl("price DOUBLE"), streaming=False)
    assert narrow.columns == ("value", "topic", "partition", "offset")
    assert narrow.table is not None
    assert narrow.table.bad_rows is BadRows.FAIL


@pytest.mark.parametrize(
    ("options", "schema", "message"),
    [
        ({**HERE, "valueSchema": "a INT"}, "", "valueSchema needs valueFormat"),
        ({**HERE, "badRows": "drop"}, "", "badRows needs valueFormat"),
        ({**HERE, "valueFormat": "xml"}, "a INT", "valueFormat is one of avro, csv, json"),
        ({**PRICES, "sep": ";"}, "a INT", "sep is for valueFormat=csv only"),
        ({**PRICES, "badRows": "hide"}, "a INT", "badRows is one of quarantine, fail, drop"),
        ({**PRICES, "badRows": "quarantine"}, "a INT", "needs the column _error"),
        ({**PRICES, "columns": "price,volume"}, "", "columns names volume"),
        ({**PRICES, "columns": "price"}, "symbol STRING", "columns and the schema name different columns"),
        ({**PRICES, "valueSchema": "_key STRING"}, "", "a column that every table has by itself"),
        (PRICES, "a INT, _offset STRING", "the column _offset is BIGINT, not STRING"),
        ({**PRICES, "mode": "merge"}, "a INT", "mode is append or upsert"),
        ({**PRICES, "mode": "upsert", "minPartitions": "4"}, "a INT", "minPartitions makes no sense"),
        ({**PRICES, "mode": "upsert"}, "a INT, _corrupt STRING", "mode=upsert has no _corrupt"),
        ({**HERE, "mode": "upsert", "columns": "value"}, "", "needs the column key"),
        ({**HERE, "mode": "upsert", "columns": "key,_corrupt"}, "", "mode=upsert has no _corrupt"),
        (HERE, "a INT", "a schema is for typed columns and needs valueFormat"),
        ({**HERE, "valueFormat": "avro"}, "", "valueFormat=avro needs valueSchema"),
        (
            {**HERE, "valueFormat": "avro", "valueSchema": AVRO},
            "a STRING",
            "valueSchema has it as INT",
        ),
        ({**HERE, "valueFormat": "avro", "valueSchema": AVRO}, "c INT", "valueSchema does not have it"),
        ({**HERE, "valueFormat": "csv"}, "a ARRAY<INT>", "a field of CSV has nothing in it"),
        ({**HERE, "valueFormat": "csv", "columns": "_c0"}, "", "columns with valueFormat=csv needs valueSchema"),
    ],
)
def test_what_is_refused(options: dict[str, str], schema: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        parse_read(options, parse_ddl(schema) if schema else None, streaming=False)


def test_a_column_that_cannot_be_null_and_a_stream_of_upserts() -> None:
    never_null = StructType([StructField("a", IntegerType(), nullable=False)])
    with pytest.raises(BadOption, match="a is NOT NULL"):
        parse_read(PRICES, never_null, streaming=False)
    with pytest.raises(BadOption, match="mode=upsert is for batch queries only"):
        parse_read({**PRICES, "mode": "upsert"}, parse_ddl("a INT"), streaming=True)


# --- schemas as text -------------------------------------------------------------------------------------------------

DDL = """a INT, `b c``d`: STRING COMMENT 'x, y', e DECIMAL(10,2), f decimal, g ARRAY<MAP<STRING, STRUCT<x: BIGINT, y DATE>>>,
h TIMESTAMP_NTZ, i tinyint, j SMALLINT, k FLOAT, l BOOLEAN, m BINARY, n TIMESTAMP"""  # noqa: E501


def test_schemas_are_parsed() -> None:
    simple = (
        "struct<a:int,b c`d:string,e:decimal(10,2),f:decimal(10,0),g:array<map<string,struct<x:bigint,y:date>>>,"
        "h:timestamp_ntz,i:tinyint,j:smallint,k:float,l:boolean,m:binary,n:timestamp>"
    )
    assert parse_ddl(DDL).simpleString() == simple


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "where a name should be"),
        ("a", "where a type should be"),
        ("a INT b INT", "'b' follows the column a"),
        ("a INT,", "where a name should be"),
        ("a MONEY", "there is no type MONEY"),
        ("a INTERVAL DAY", "there is no type INTERVAL"),
        ("a INT NOT NULL", "a is NOT NULL"),
        ("a ARRAY<INT", "'>' is missing"),
        ("a MAP<INT, INT>", "keys of a map are STRING"),
        ("a DECIMAL(50, 2)", "1 to 38 digits"),
        ("a DECIMAL(x)", "'x' is not a number"),
        ("a INT, a STRING", "two columns of one name"),
        ("a-b INT", "is not understood"),
    ],
)
def test_schemas_that_are_none(text: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        parse_ddl(text)
