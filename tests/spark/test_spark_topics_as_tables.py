"""Topics as typed tables in a real session: batch, SQL, streams, upserts, and what happens to bad rows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.model.batch_builder import NewRecord, build_batch
from penstock_spark.reading.tables.ddl import parse_ddl
from tests.spark.test_spark_table_options import DDL
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
PRICES = {"valueFormat": "json", "valueSchema": "symbol STRING, price DOUBLE, at TIMESTAMP"}


def put(client: RawClient, topic: str, *records: tuple[str | None, Any], partition: int = 0) -> None:
    """Keys and values; what is no bytes and not None is written as JSON."""
    new = []
    for key, value in records:
        content = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        new.append(NewRecord(None if key is None else key.encode(), content))
    assert client.produce(topic, bytes(build_batch(new, timestamp=now_ms())), partition=partition).error_code == 0


def price(symbol: str, amount: Any) -> tuple[str, dict[str, Any]]:
    return symbol, {"symbol": symbol, "price": amount, "at": "2026-11-16T09:30:00Z"}


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=repr)


@pytest.mark.feature("X-04", "S-01")
def test_typed_columns_with_bad_rows_in_quarantine(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, price("ACME", 12.5), price("XYZ", "a lot"), ("GONE", None), (None, b"\xff"))
    frame = read(subscribe=topic, **PRICES)
    assert frame.schema == StructType.fromDDL(
        "symbol STRING, price DOUBLE, at TIMESTAMP, _key BINARY, _topic STRING, _partition INT, _offset BIGINT, "
        "_timestamp TIMESTAMP, _error STRING, _raw BINARY"
    )
    assert rows(frame, "_offset", "symbol", "price", "_key", "_topic") == [
        (0, "ACME", 12.5, b"ACME", topic),
        (1, None, None, b"XYZ", topic),
        (2, None, None, b"GONE", topic),
        (3, None, None, None, topic),
    ]
    assert frame.selectExpr("at = TIMESTAMP '2026-11-16 09:30:00Z'").first() == (True,)
    bad = frame.where("_error IS NOT NULL")
    assert rows(bad, "_offset", "_error") == [(1, "price is no DOUBLE"), (3, "the value is broken JSON")]
    assert [json.loads(row._raw)["price"] for row in bad.where("_offset = 1").collect()] == ["a lot"]


def test_the_schema_of_the_reader_says_which_columns_there_are(
    spark: SparkSession, read: Read, topic: str, broker: BrokerProcess, client: RawClient
) -> None:
    put(client, topic, price("ACME", 12.5))
    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", f"{broker.host}:{broker.port}")
    reader = reader.option("subscribe", topic).option("valueFormat", "json")
    assert [tuple(row) for row in reader.schema("price DOUBLE, _offset BIGINT").load().collect()] == [(12.5, 0)]
    put(client, topic, price("ACME", "x"))
    with pytest.raises(Exception, match=f"{topic}-0 at offset 1: price is no DOUBLE"):
        reader.schema("price DOUBLE").load().collect()
    assert reader.schema("price DOUBLE").option("badRows", "drop").load().count() == 1


@pytest.mark.feature("X-04")
def test_sql_over_full_history_and_live_tail(
    spark: SparkSession, broker: BrokerProcess, topic: str, client: RawClient
) -> None:
    put(client, topic, price("ACME", 1.0), price("ACME", 2.0), price("XYZ", 5.0))
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW prices USING penstock OPTIONS "
        f"(`kafka.bootstrap.servers` '{broker.host}:{broker.port}', subscribe '{topic}', valueFormat 'json')"
    )
    highest = "SELECT symbol, max(price) FROM prices GROUP BY symbol ORDER BY symbol"
    assert [tuple(row) for row in spark.sql(highest).collect()] == [("ACME", 2.0), ("XYZ", 5.0)]
    put(client, topic, price("ACME", 7.0))
    assert [tuple(row) for row in spark.sql(highest).collect()] == [("ACME", 7.0), ("XYZ", 5.0)]


@pytest.mark.feature("X-04")
def test_csv_and_avro(read: Read, client: RawClient) -> None:
    lines = client.create_topic()
    put(client, lines, ("a", b"ACME,12.5"), ("b", b"XYZ,much"))
    frame = read(subscribe=lines, valueFormat="csv", valueSchema="symbol STRING, price DOUBLE", columns="price,_error")
    assert rows(frame, "price", "_error") == [(12.5, None), (None, "price is no DOUBLE")]
    assert read(subscribe=lines, valueFormat="csv").columns[:2] == ["_c0", "_c1"]
    schema = {
        "type": "record",
        "name": "Price",
        "fields": [{"name": "symbol", "type": "string"}, {"name": "price", "type": ["null", "double"]}],
    }
    records = client.create_topic()
    for symbol, amount in (("ACME", 12.5), ("XYZ", None)):
        file = io.BytesIO()
        fastavro.schemaless_writer(file, fastavro.parse_schema(schema), {"symbol": symbol, "price": amount})
        put(client, records, (symbol, file.getvalue()))
    frame = read(subscribe=records, valueFormat="avro", valueSchema=json.dumps(schema))
    assert rows(frame, "symbol", "price") == [("ACME", 12.5), ("XYZ", None)]


def test_nested_columns(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, ("a", {"o": {"x": [1, 2]}, "m": {"k": {"y": "z"}}}), ("b", {"o": None}))
    frame = read(
        subscribe=topic, valueFormat="json", valueSchema="o STRUCT<x: ARRAY<INT>>, m MAP<STRING, STRUCT<y: STRING>>"
    )
    assert rows(frame.selectExpr("o.x[1] AS x", "m['k'].y AS y"), "x", "y") == [(2, "z"), (None, None)]
    inferred = read(subscribe=topic, valueFormat="json", columns="o")
    assert inferred.schema.simpleString() == "struct<o:struct<x:array<bigint>>>"


def test_a_topic_without_records_has_no_schema_by_itself(read: Read, topic: str) -> None:
    with pytest.raises(Exception, match="from which a schema can be inferred: give valueSchema"):
        read(subscribe=topic, valueFormat="json")
    assert read(subscribe=topic, **PRICES).count() == 0


@pytest.mark.feature("X-04")
def test_the_latest_of_each_key(read: Read, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    put(client, topic, price("A", 1.0), price("B", 1.0), price("A", 2.0), ("B", None), price("C", "bad"))
    put(client, topic, price("D", 1.0), price("D", 3.0), ("E", None), partition=1)
    put(client, topic, price("F", 4.0))
    frame = read(subscribe=topic, mode="upsert", **PRICES)
    expected = [("A", 2.0, b"A", None), ("D", 3.0, b"D", None), ("F", 4.0, b"F", None)]
    bad = (None, None, b"C", "price is no DOUBLE")
    assert rows(frame, "symbol", "price", "_key", "_error") == [*expected, bad]
    put(client, topic, price("B", 9.0), ("A", None))
    assert [row[0] for row in rows(frame.where("_error IS NULL"), "symbol")] == ["B", "D", "F"]
    plain = read(subscribe=topic, mode="upsert", columns="key,offset")
    assert [row[0] for row in rows(plain, "key")] == [b"B", b"C", b"D", b"F"]


def test_upserts_of_records_without_keys(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, price("A", 1.0), (None, price("?", 2.0)[1]))
    kept = read(subscribe=topic, mode="upsert", **PRICES)
    assert rows(kept, "symbol", "_error") == [("A", None), (None, "the record has no key")]
    assert read(subscribe=topic, mode="upsert", badRows="drop", **PRICES).count() == 1
    with pytest.raises(Exception, match=f"{topic}-0 at offset 1: the record has no key"):
        read(subscribe=topic, mode="upsert").count()


@pytest.mark.feature("X-04")
def test_upserts_of_a_long_history(read: Read, topic: str, client: RawClient) -> None:
    """Most batches have no latest record: they are jumped over, and what is left is right."""
    for number in range(40):
        put(client, topic, *(price(f"S{key}", number * 100 + key) for key in range(number, 60)))
    frame = read(subscribe=topic, mode="upsert", **PRICES)
    assert rows(frame, "symbol", "price") == sorted(
        ((f"S{key}", min(key, 39) * 100.0 + key) for key in range(60)), key=repr
    )


def test_the_same_rows_as_a_stream(
    spark: SparkSession, broker: BrokerProcess, topic: str, client: RawClient, tmp_path: Path
) -> None:
    put(client, topic, price("ACME", 12.5), price("XYZ", "a lot"))
    given = {"kafka.bootstrap.servers": f"{broker.host}:{broker.port}", "subscribe": topic, **PRICES}
    frame = spark.readStream.format("penstock").options(startingOffsets="earliest", **given).load()
    good = frame.where("_error IS NULL").select("symbol", "price")
    for expected in (1, 3):
        writer = good.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start()
        assert query.awaitTermination(100)
        assert spark.read.parquet(str(tmp_path / "out")).count() == expected
        put(client, topic, price("ACME", 13.0), price("ACME", 14.0))


@pytest.mark.feature("X-04", "S-02")
@pytest.mark.parametrize("form", ["json", "avro"])
def test_what_was_written_is_read_again(
    spark: SparkSession, broker: BrokerProcess, read: Read, topic: str, form: str
) -> None:
    ddl = "symbol STRING, price DOUBLE, size BIGINT, day DATE, at TIMESTAMP, buy BOOLEAN"
    query = """SELECT if(id % 7 = 0, NULL, concat('S"', id)) AS symbol, id / 3 AS price, id AS size,
        DATE '2026-11-16' + CAST(id AS INT) AS day, timestamp_micros(id * 1000003) AS at, id % 2 = 0 AS buy
        FROM range(1000)"""
    frame = spark.sql(query)
    writer = frame.write.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap).mode("append")
    writer.options(topic=topic, valueFormat=form).save()
    found = read(subscribe=topic, valueFormat=form, valueSchema=ddl, badRows="fail").select(frame.columns)
    assert sorted(found.collect(), key=lambda row: row.size) == frame.collect()


def spoil(directory: Path, content: bytes) -> None:
    """One bit of it, in the file of the broker's that has it."""
    for path in directory.rglob("*.log"):
        data = path.read_bytes()
        if content in data:
            with path.open("r+b") as file:
                file.seek(data.index(content))
                file.write(bytes([content[0] ^ 1]))
            return
    pytest.skip("this broker has no files")


@pytest.mark.feature("S-01")
def test_a_batch_that_cannot_be_decoded(read: Read, topic: str, client: RawClient, broker: BrokerProcess) -> None:
    put(client, topic, ("a", b'{"price": 1}'))
    damaged = unique_name("damaged").encode()
    put(client, topic, ("b", damaged), ("c", b"x"))
    put(client, topic, ("d", b'{"price": 2}'))
    spoil(broker.directory, damaged)
    with pytest.raises(Exception, match=f"{topic}-0 at offset 1: its checksum is wrong"):
        read(subscribe=topic).count()
    reason = "its checksum is wrong"
    frame = read(subscribe=topic, columns="value,offset,_corrupt")
    expected = [(0, b'{"price": 1}', None), (1, None, reason), (3, b'{"price": 2}', None)]
    assert rows(frame, "offset", "value", "_corrupt") == expected
    table = read(subscribe=topic, valueFormat="json", valueSchema="price INT", columns="price,_offset,_error,_corrupt")
    assert rows(table, "_offset", "price", "_error") == [(0, 1, None), (1, None, reason), (3, 2, None)]


def test_an_empty_range_has_no_rows(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, price("ACME", 12.5))
    end = f'{{"{topic}": {{"0": 0}}}}'
    assert read(subscribe=topic, endingOffsets=end, **PRICES).count() == 0


def test_schemas_mean_what_they_mean_to_spark(spark: SparkSession) -> None:
    """Ours are parsed where there is no session."""
    assert parse_ddl(DDL).simpleString() == StructType.fromDDL(DDL).simpleString()


@pytest.mark.feature("X-04")
def test_lines_of_another_shape_do_not_ruin_inferred_csv(read: Read, topic: str, client: RawClient) -> None:
    lines = [b"a header", *(f"{number},{number}.5".encode() for number in range(50)), b"1,2,3"]
    client.produce(topic, bytes(build_batch([NewRecord(None, line) for line in lines], timestamp=now_ms())))
    table = read(subscribe=topic, valueFormat="csv")
    assert table.schema.simpleString().startswith("struct<_c0:bigint,_c1:double,_key:")
    bad = table.where("_error IS NOT NULL").select("_offset", "_error").collect()
    assert sorted(map(tuple, bad)) == [(0, "the value has too few fields"), (51, "the value has too many fields")]
    assert table.where("_error IS NULL").count() == 50
