"""Columns that nobody asks for are not decoded, and which rows are bad does not depend on what is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
SCHEMA = "symbol STRING, price DOUBLE"


@pytest.fixture
def prices(client: RawClient) -> str:
    """One good row, one whose price is bad, one that is no JSON, a tombstone."""
    topic = client.create_topic()
    values = [b'{"symbol": "A", "price": 1.5}', b'{"symbol": "B", "price": "much"}', b"no", None]
    records = [NewRecord(b"k%d" % number, value) for number, value in enumerate(values)]
    client.produce(topic, bytes(build_batch(records, timestamp=now_ms())))
    return topic


def columns(frame: DataFrame) -> str:
    text = str(frame._jdf.queryExecution().executedPlan().toString())
    return text.split(" columns [", 1)[1].split("]", 1)[0]


def values(frame: DataFrame, name: str) -> list[Any]:
    return [row[name] for row in frame.select(name, "_offset").orderBy("_offset").collect()]


@pytest.mark.feature("S-01")
def test_only_wanted_columns_are_read(read: Read, prices: str) -> None:
    frame = read(subscribe=prices, includeHeaders=True)
    assert columns(frame.select("offset", "key")) == "key, offset"
    assert [bytes(row.key) for row in frame.select("key").collect()] == [b"k0", b"k1", b"k2", b"k3"]
    assert [tuple(row) for row in frame.select("offset", "partition").limit(1).collect()] == [(0, 0)]
    assert frame.count() == 4
    assert columns(frame.groupBy().count()) == "partition"
    assert [row.value for row in frame.select("value").collect()][3] is None


@pytest.mark.feature("S-01")
def test_a_row_is_bad_whatever_is_asked_for(read: Read, prices: str) -> None:
    table = read(subscribe=prices, valueFormat="json", valueSchema=SCHEMA)
    assert values(table, "symbol") == ["A", None, None, None]
    assert values(table, "price") == [1.5, None, None, None]
    assert [error is None for error in values(table, "_error")] == [True, False, False, True]
    assert [bytes(row._raw) for row in table.where("_error IS NOT NULL").select("_raw").collect()] == [
        b'{"symbol": "B", "price": "much"}', b"no",
    ]  # fmt: skip
    assert table.where("_error IS NOT NULL").count() == 2
    assert table.count() == 4
    assert columns(table.groupBy().count()) == "_partition"


def test_bad_rows_that_are_left_out_are_so_in_every_query(read: Read, prices: str) -> None:
    table = read(subscribe=prices, valueFormat="json", valueSchema=SCHEMA, badRows="drop")
    assert table.count() == 2
    assert values(table, "symbol") == ["A", None]
    assert [row._offset for row in table.select("_offset").collect()] == [0, 3]


def test_bad_rows_that_fail_a_query_fail_every_one(read: Read, prices: str) -> None:
    table = read(subscribe=prices, valueFormat="json", valueSchema=SCHEMA, badRows="fail")
    for query in (table.select("_offset"), table.select("symbol"), table.groupBy().count()):
        with pytest.raises(Exception, match="price is no DOUBLE"):
            query.collect()
    named = read(subscribe=prices, valueFormat="json", valueSchema=SCHEMA, columns="symbol,price")  # no _error
    with pytest.raises(Exception, match="price is no DOUBLE"):
        named.select("symbol").collect()
    assert table.where("_offset = 0").select("symbol").collect()[0].symbol == "A"


def test_the_latest_of_each_key_needs_the_key_for_itself(read: Read, client: RawClient, prices: str) -> None:
    client.produce(prices, bytes(build_batch([NewRecord(b"k1", b'{"symbol": "C"}')], timestamp=now_ms())))
    plain = read(subscribe=prices, mode="upsert")
    assert sorted(row.offset for row in plain.select("offset").collect()) == [0, 2, 4]
    table = read(subscribe=prices, mode="upsert", valueFormat="json", valueSchema=SCHEMA)
    assert table.count() == 3
    assert values(table, "symbol") == ["A", None, "C"]
    assert sorted(bytes(row._key) for row in table.select("_key").collect()) == [b"k0", b"k1", b"k2"]


@pytest.mark.parametrize("form", ["csv", "avro"])
def test_formats_that_need_every_field(read: Read, client: RawClient, form: str) -> None:
    topic = client.create_topic()
    value = b"A,1.5" if form == "csv" else b"\x02\x02A\x02\x00\x00\x00\x00\x00\x00\xf8?"
    client.produce(topic, bytes(build_batch([NewRecord(None, value)], timestamp=now_ms())))
    table = read(subscribe=topic, valueFormat=form, valueSchema=SCHEMA)
    assert table.select("price").collect()[0].price == 1.5
    assert columns(table.select("price")) == "price"
    assert read(subscribe=topic, valueFormat=form, valueSchema=SCHEMA, columns="symbol").collect()[0].symbol == "A"


def test_a_schema_of_the_reader_is_pruned_too(spark: SparkSession, broker: BrokerProcess, prices: str) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": prices, "valueFormat": "json"}
    reader = spark.read.format("penstock").options(**options)
    frame = reader.schema("price DOUBLE, _offset BIGINT, _error STRING").load()
    assert columns(frame.select("price")) == "price"
    assert [row.price for row in frame.select("price").collect()] == [1.5, None, None, None]
