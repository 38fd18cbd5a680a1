"""From Arrow rows to record batches: what any producer would send, to where any producer would send it."""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, StringType, StructType

from penstock.model.batch import read_header
from penstock.model.murmur2 import partition_of
from penstock.model.record import Record
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption, BadRow
from penstock_spark.reading.records.fields import HEADERS
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.writing.batch_limits import USUAL, BatchLimits
from penstock_spark.writing.encoding.avro_fields import avro_fields
from penstock_spark.writing.encoding.avro_values import avro_values
from penstock_spark.writing.encoding.encoder import Encoder, chunks
from penstock_spark.writing.encoding.json_values import json_values
from penstock_spark.writing.encoding.outgoing import outgoing
from penstock_spark.writing.options import parse_write
from penstock_spark.writing.record_columns import record_columns
from penstock_spark.writing.tasks import inline_share


def ddl(text: str) -> StructType:
    """Of simple types; Spark's own parser needs a session."""
    names = {"INT": "integer", "BIGINT": "long"}
    schema = StructType()
    for field in text.split(", "):
        name, kind = field.split(" ")
        schema.add(name, ArrayType(StringType()) if kind == "ARRAY" else names.get(kind, kind.lower()))
    return schema


Row = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def encode(
    columns: dict[str, pa.Array], count: int, *, partitions: int = 1, codec: int = 0, topic: str | None = "t"
) -> dict[TopicPartition, list[Record]]:
    """The encoder's output, decoded by the broker's own reader."""
    encoder = Encoder(lambda names: dict.fromkeys(names, partitions), codec, 0)
    found: dict[TopicPartition, list[Record]] = {}
    for each in encoder.encode(outgoing(columns, count, topic)):
        header = read_header(each.batch)
        assert header.size_bytes == len(each.batch)
        records = list(batch_records(each.batch, header))
        assert len(records) == each.rows == header.record_count
        assert max(record.timestamp for record in records) == header.max_timestamp
        found.setdefault(each.place, []).extend(records)
    return found


BYTES = st.none() | st.binary(max_size=300)
ROWS = st.lists(st.tuples(BYTES, BYTES, st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3).map(tuple)))


@settings(deadline=None)  # compiles once
@given(rows=ROWS, codec=st.integers(0, 4), skip=st.integers(0, 2))
def test_records_come_out_as_they_went_in(rows: list[Row], codec: int, skip: int) -> None:
    times = [1_700_000_000_000 + index * 7 for index in range(len(rows))]
    headers = [[{"key": key, "value": value} for key, value in each[2]] or None for each in rows]
    columns = {
        "key": pa.array([each[0] for each in rows], pa.binary()),
        "value": pa.array([each[1] for each in rows], pa.binary()),
        "headers": pa.array(headers, HEADERS),
        "timestamp": pa.array([each * 1000 for each in times], pa.int64()).view(pa.timestamp("us", tz="UTC")),
    }
    sliced = {name: column[skip:] for name, column in columns.items()}
    rows = rows[skip:]
    records = [record for each in encode(sliced, len(rows), codec=codec).values() for record in each]
    assert [(record.key, record.value, record.headers) for record in records] == rows
    assert [record.timestamp for record in records] == times[skip:]


@settings(deadline=None)  # compiles once
@given(keys=st.lists(st.binary(max_size=40), min_size=1, max_size=50))
def test_keys_land_where_java_puts_them(keys: list[bytes]) -> None:
    columns = {"key": pa.array(keys, pa.binary()), "value": pa.array(keys, pa.binary())}
    for place, records in encode(columns, len(keys), partitions=1000).items():
        for record in records:
            assert record.key is not None
            assert place.partition == partition_of(record.key, 1000)


def test_a_partition_goes_before_the_key_and_topics_are_kept_apart() -> None:
    columns = {
        "key": pa.array([b"a", b"a", b"a", None]),
        "value": pa.array(["0", "1", "2", "3"]),
        "topic": pa.array(["x", "y", "x", "y"]),
        "partition": pa.array([3, None, 3, 1], pa.int32()),
    }
    found = encode(columns, 4, partitions=4, topic=None)
    assert [record.value for record in found[TopicPartition("x", 3)]] == [b"0", b"2"]
    assert [record.value for record in found[TopicPartition("y", 1)]][-1] == b"3"
    assert {place.topic for place in found} == {"x", "y"}


def test_rows_without_a_key_move_on_from_chunk_to_chunk() -> None:
    encoder = Encoder(lambda names: dict.fromkeys(names, 3), 0, 0)
    values = {"value": pa.array(["x"] * 10)}
    places = [each.place.partition for _ in range(4) for each in encoder.encode(outgoing(values, 10, "t"))]
    assert places == [0, 1, 2, 0]


def test_batches_are_cut_and_one_record_may_be_larger() -> None:
    large, many = b"x" * (3 * USUAL.batch_bytes), [b"y" * 1000] * 2000
    encoder = Encoder(lambda names: dict.fromkeys(names, 1), 0, 0)
    sizes = [len(each.batch) for each in encoder.encode(outgoing({"value": pa.array([*many, large, b"z"])}, 2002, "t"))]
    assert max(sizes) > 3 * USUAL.batch_bytes
    assert sorted(sizes)[-2] <= USUAL.batch_bytes + 61
    assert len(sizes) >= 5


@pytest.mark.parametrize("batch_bytes", [0, 100, 5000])
def test_the_size_of_batches_is_an_option(batch_bytes: int) -> None:
    encoder = Encoder(lambda names: dict.fromkeys(names, 1), 0, 0, BatchLimits(batch_bytes=batch_bytes))
    found = list(encoder.encode(outgoing({"value": pa.array([b"y" * 500] * 100)}, 100, "t")))
    assert sum(each.rows for each in found) == 100
    assert all(each.rows == 1 or len(each.payload) <= batch_bytes for each in found)
    assert len(found) == (12 if batch_bytes == 5000 else 100)


def test_a_record_above_the_limit_is_refused_before_it_is_sent() -> None:
    encoder = Encoder(lambda names: dict.fromkeys(names, 1), 0, 0, BatchLimits(batch_bytes=1000, record_bytes=1000))
    values = pa.array([b"x" * 900, b"x" * 2000])
    with pytest.raises(BadRow, match=r"a record for t-0 has 20\d\d bytes, and kafka.max.request.size is 1000"):
        list(encoder.encode(outgoing({"value": values}, 2, "t")))


def test_keys_may_be_kept_out_of_the_choice_of_partitions() -> None:
    encoder = Encoder(lambda names: dict.fromkeys(names, 1000), 0, 7, ignores_keys=True)
    columns = {"key": pa.array([b"a", b"b", b"c"]), "value": pa.array([b"1", b"2", b"3"])}
    [found] = encoder.encode(outgoing(columns, 3, "t"))
    assert found.place == TopicPartition("t", 7)
    assert [record.key for record in batch_records(found.batch, read_header(found.batch))] == [b"a", b"b", b"c"]


def test_columns_that_are_no_part_of_a_record_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    frame = parse_ddl("value STRING, price DOUBLE, partitions INT, offset BIGINT, timestampType INT")
    columns = record_columns(frame, parse_write({"kafka.bootstrap.servers": "h:1", "topic": "t"}, streaming=False))
    assert columns.parts == {"value": "value"}
    assert [record.getMessage() for record in caplog.records] == [
        "the column partitions is not written; did you mean partition?"
    ]


def test_rows_do_not_wait_longer_than_they_may() -> None:
    small = [pa.record_batch({"value": pa.array(["v"] * 10)}) for _ in range(5)]
    assert [each.num_rows for each in chunks(small, 0.0)] == [10] * 5
    assert [each.num_rows for each in chunks(small, 3600.0)] == [50]


def test_small_arrow_batches_are_taken_together() -> None:
    small = [pa.record_batch({"value": pa.array(["v"] * 10)}) for _ in range(100)]
    assert [each.num_rows for each in chunks(small)] == [1000]
    assert [each.num_rows for each in chunks([])] == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"topic": pa.array(["a", None])}, "null in the column topic"),
        ({"partition": pa.array([0, 9], pa.int32()), "topic": pa.array(["a", "b"])}, "9, and topic b has 1"),
        ({"partition": pa.array([0, -2], pa.int32()), "topic": pa.array(["a", "b"])}, "partition has -2"),
        ({}, "neither an option nor a column topic"),
    ],
)
def test_rows_that_are_refused(columns: dict[str, pa.Array], message: str) -> None:
    with pytest.raises(BadRow, match=message):
        encode({"value": pa.array(["v", "w"]), **columns}, 2, topic=None)


# --- typed columns ---------------------------------------------------------------------------------------------------


def as_json(**columns: Iterable[Any] | pa.Array) -> list[Any]:
    batch = pa.record_batch({name: pa.array(values) for name, values in columns.items()})
    return [json.loads(each) for each in json_values(batch).to_pylist()]


@settings(deadline=None)  # compiles once
@given(st.lists(st.tuples(st.text() | st.none(), st.integers(-(2**63), 2**63 - 1) | st.none(), st.booleans())))
def test_json_is_read_by_others(rows: list[tuple[str | None, int | None, bool]]) -> None:
    expected = [{"t": text, 'n"m': number, "ü": flag} for text, number, flag in rows]
    batch = pa.record_batch(
        [
            pa.array([each[0] for each in rows], pa.string()),
            pa.array([each[1] for each in rows], pa.int64()),
            pa.array([each[2] for each in rows], pa.bool_()),
        ],
        names=["t", 'n"m', "ü"],
    )
    found = [json.loads(each) for each in json_values(batch).to_pylist()]
    assert found == [{name: value for name, value in each.items() if value is not None} for each in expected]


def test_json_of_every_kind() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=datetime.UTC)
    found = as_json(
        float=[1.5, float("nan"), float("-inf"), None],
        time=pa.array([moment, None, moment, moment], pa.timestamp("us", tz="UTC")),
        date=[datetime.date(2026, 1, 2), None, None, None],
        data=[b"\xff", None, b"", None],
        nested=[{"a": 1, "b": "x"}, {"a": None, "b": 'y"'}, None, {"a": 2, "b": None}],
        many=[["a", None, "b\n"], [], None, ["c"]],
        pairs=pa.array([[("k", 1)], [("l", None), ("m", 2)], None, []], pa.map_(pa.string(), pa.int64())),
    )
    assert found == [
        {
            "float": 1.5, "time": "2026-01-02T03:04:05.000600Z", "date": "2026-01-02", "data": "/w==",
            "nested": {"a": 1, "b": "x"}, "many": ["a", None, "b\n"], "pairs": {"k": 1},
        },
        {"float": "NaN", "nested": {"b": 'y"'}, "many": [], "pairs": {"l": None, "m": 2}},
        {"float": "-Infinity", "time": "2026-01-02T03:04:05.000600Z", "data": ""},
        {"time": "2026-01-02T03:04:05.000600Z", "nested": {"a": 2}, "many": ["c"], "pairs": {}},
    ]  # fmt: skip


def test_avro_is_the_bytes_of_its_definition() -> None:
    schema = ddl("s STRING, n BIGINT, d DOUBLE, b BOOLEAN, at TIMESTAMP")
    batch = pa.record_batch(
        {
            "s": pa.array(["ab", None]),
            "n": pa.array([-3, 64]),
            "d": pa.array([1.5, None]),
            "b": pa.array([True, False]),
            "at": pa.array([1, 2], pa.int64()).view(pa.timestamp("us", tz="UTC")),
        }
    )
    first, second = avro_values(batch, avro_fields(schema, None)).to_pylist()
    assert first == b"\2\4ab" + b"\2\5" + b"\2" + struct.pack("<d", 1.5) + b"\2\1" + b"\2\2"
    assert second == b"\0" + b"\2\x80\1" + b"\0" + b"\2\0" + b"\2\4"
    given_schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": ["long", "null"]}, {"name": "s", "type": "string"}],
    }
    narrow = ddl("s STRING, n BIGINT")
    made = avro_fields(narrow, json.dumps(given_schema))
    assert avro_values(batch.slice(0, 1), made).to_pylist() == [b"\0\5\4ab"]
    with pytest.raises(BadRow, match="s has null"):
        avro_values(batch, made)


@pytest.mark.parametrize(
    ("frame", "schema", "message"),
    [
        ("s STRING", "{}", "which Avro does not know"),
        ("s STRING", '{"type":"record","name":"r","fields":[{"name":"t","type":"string"}]}', "no column t, no field s"),
        ("s STRING", '{"type":"record","name":"r","fields":[{"name":"s","type":"long"}]}', "s is long, and the column"),
        ("s ARRAY", None, "array<string>, which is not written as Avro"),
    ],
)
def test_avro_that_does_not_fit(frame: str, schema: str | None, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        avro_fields(ddl(frame), schema)


# --- what is refused before anything runs ----------------------------------------------------------------------------

BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ("value STRING", {}, "say where to"),
        ("key STRING", {"topic": "t"}, "no column value"),
        ("value INT", {"topic": "t"}, "value is INT; it must be STRING or BINARY"),
        ("key STRING, vale STRING", {"topic": "t"}, "no column value; there are: key, vale. Fix: rename vale to value"),
        (
            "a INT",
            {"topic": "t"},
            "no column value; there are: a. Fix: select the value AS value, or write all columns by",
        ),
        ("value STRING, partition BIGINT", {"topic": "t"}, "partition is BIGINT; it must be INT"),
        ("value STRING, headers ARRAY", {"topic": "t"}, "it must be ARRAY<STRUCT<key"),
        ("a INT", {"topic": "t", "valueFormat": "json", "keyColumn": "b"}, "keyColumn names b"),
        ("a INT, _key STRING", {"topic": "t", "valueFormat": "json", "keyColumn": "a"}, "two keys"),
        ("_key STRING", {"topic": "t", "valueFormat": "json"}, "needs columns to write"),
        ("value STRING", {"topic": "t", "keyColumn": "value"}, "needs valueFormat"),
        ("value STRING", {"topic": "t", "valueFormat": "xml"}, "json or avro"),
        ("value STRING", {"topic": "t", "delivery": "maybe"}, "exactly-once or at-least-once"),
        ("value STRING", {"topic": "t", "exactlyOnce": "task", "delivery": "at-least-once"}, "batch or task"),
        ("value STRING", {"topic": "t", "exactlyOnce": "task", "delivery": "exactly-once"}, "for streaming queries"),
        ("value STRING", {"topic": "t", "kafka.acks": "some"}, "kafka.acks is all"),
        ("value STRING", {"topic": "t", "includeHeaders": "perhaps"}, "includeHeaders is true or false"),
        ("value STRING", {"topic": "t", "compression": "rar"}, "none, gzip, snappy, lz4, zstd"),
        ("value STRING", {"topic": "t", "kafka.linger.ms": "soon"}, "kafka.linger.ms is a number and not negative"),
        ("value STRING", {"topic": "t", "kafka.lingr.ms": "5"}, "did you mean kafka.linger.ms"),
        ("value STRING", {"topic": "t", "kafka.transactional.id": "x"}, "kafka.transactional.id cannot be used"),
    ],
)
def test_writes_that_are_refused(frame: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        record_columns(ddl(frame), parse_write({**BROKER, **options}, streaming=False))


WITH_HEADERS = parse_ddl("value STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>")


def test_headers_are_written_unless_that_is_ruled_out() -> None:
    """Spark's sink takes the option, too, and writes them whatever it says."""
    for options in ({}, {"includeHeaders": "true"}):
        columns = record_columns(WITH_HEADERS, parse_write({**BROKER, "topic": "t", **options}, streaming=False))
        assert "headers" in columns.parts
    with pytest.raises(BadOption, match="includeHeaders is false, and there is a column headers"):
        record_columns(WITH_HEADERS, parse_write({**BROKER, "topic": "t", "includeHeaders": "false"}, streaming=False))


@given(st.integers(1, 1 << 30), st.integers(1, 2000))
def test_what_all_tasks_may_send_to_the_driver_is_bounded(inline_bytes: int, tasks: int) -> None:
    shares = [inline_share(inline_bytes, task) for task in range(tasks)]
    assert shares[:4] == [inline_bytes] * min(4, tasks)
    assert sum(shares) <= 30 * inline_bytes


def test_a_frame_that_was_read_can_be_written() -> None:
    read = (
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
    )
    columns = record_columns(ddl(read), parse_write({**BROKER, "topic": "copy"}, streaming=False))
    assert set(columns.parts) == {"key", "value", "topic", "partition", "timestamp"}
    assert columns.topic == "copy"
