"""Tables of records, damaged batches as rows, and the latest of each key, without a broker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.fetches import Fetched
from penstock.model.batch import HEADER_BYTES, read_header, stamp
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadRow
from penstock_spark.reading.options import parse_read
from penstock_spark.reading.records.batches import Batches, Choice, DamagedBatch, RecordBatch
from penstock_spark.reading.records.chunks import chunks
from penstock_spark.reading.records.columns import ColumnBuilder
from penstock_spark.reading.records.upsert import Latest
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.tables.table import EXTRA, BadRows, Table
from penstock_spark.reading.values.json_values import JsonDecoder

PLACE = TopicPartition("prices", 3)
TIME = 1_700_000_000_000


def answer(*batches: bytearray) -> Fetched:
    data = b"".join(map(bytes, batches))
    return Fetched(0, 1 << 40, 1 << 40, 0, (), memoryview(data))


def batch_at(offset: int, *records: NewRecord) -> bytearray:
    batch = build_batch(list(records), timestamp=TIME)
    stamp(batch, offset, 0)
    return batch


# --- tables ----------------------------------------------------------------------------------------------------------


def make(table: Table, *records: NewRecord) -> list[dict[str, Any]]:
    builder = ColumnBuilder(PLACE, 0, 1 << 40, table.needed)
    [batch] = chunks(Batches(PLACE, 0, 1 << 40).take(answer(batch_at(7, *records))), builder)
    made = table.rows(batch)
    made.validate(full=True)
    assert made.schema == table.schema
    rows: list[dict[str, Any]] = made.to_pylist()
    return rows


def prices(columns: str, bad_rows: BadRows = BadRows.QUARANTINE, *, needs_key: bool = False) -> Table:
    decoder = JsonDecoder(parse_ddl("price DOUBLE"))
    fields = [EXTRA[name] if name in EXTRA else decoder.schema.field(name) for name in columns.split(",")]
    return Table(decoder, pa.schema(fields), bad_rows, needs_key)


GOOD, BAD, GONE = NewRecord(b"a", b'{"price": 1.5}'), NewRecord(b"b", b'{"price": "x"}'), NewRecord(b"c", None)


@pytest.mark.feature("X-04")
def test_a_bad_row_is_in_quarantine() -> None:
    assert make(prices("price,_offset,_error,_raw"), GOOD, BAD, GONE) == [
        {"price": 1.5, "_offset": 7, "_error": None, "_raw": None},
        {"price": None, "_offset": 8, "_error": "price is no DOUBLE", "_raw": b'{"price": "x"}'},
        {"price": None, "_offset": 9, "_error": None, "_raw": None},
    ]


def test_every_column_of_a_record() -> None:
    [row] = make(prices("price," + ",".join(EXTRA)), NewRecord(b"k", b'{"price": 2}', (("h", b"x"),)))
    assert (row["_key"], row["_value"], row["_topic"], row["_partition"]) == (b"k", b'{"price": 2}', "prices", 3)
    assert (row["_headers"], row["_corrupt"]) == ([{"key": "h", "value": b"x"}], None)


def test_headers_in_the_schema_of_a_user() -> None:
    options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "prices", "valueFormat": "json"}
    schema = parse_ddl("price DOUBLE, _headers ARRAY<STRUCT<key: STRING, value: BINARY>>")
    table = parse_read(options, schema, streaming=False).table
    assert table is not None
    record = NewRecord(None, b'{"price": 1}', (("h", None),))
    assert make(table, record) == [{"price": 1.0, "_headers": [{"key": "h", "value": None}]}]


def test_bad_rows_are_dropped_or_a_failure() -> None:
    assert make(prices("price", BadRows.DROP), GOOD, BAD, GONE) == [{"price": 1.5}, {"price": None}]
    with pytest.raises(BadRow, match=r"prices-3 at offset 8: price is no DOUBLE\. badRows=quarantine"):
        make(prices("price", BadRows.FAIL), GOOD, BAD)


def test_a_record_without_a_key_cannot_be_upserted() -> None:
    rows = make(prices("price,_error", needs_key=True), GOOD, NewRecord(None, b'{"price": 2}'))
    assert rows == [{"price": 1.5, "_error": None}, {"price": None, "_error": "the record has no key"}]


# --- damage ----------------------------------------------------------------------------------------------------------


def damaged_in_different_ways() -> list[RecordBatch | DamagedBatch]:
    """Good, with a wrong checksum, good, with records that are none, good."""
    spoiled = batch_at(1, NewRecord(None, b"b" * 50), NewRecord(None, b"c"))
    spoiled[-10] ^= 1
    first, damaged, second = Batches(PLACE, 0, 100).take(
        answer(batch_at(0, NewRecord(None, b"a")), spoiled, batch_at(3, NewRecord(None, b"d")))
    )
    wrong = batch_at(4, NewRecord(None, b"e"))
    unreadable = RecordBatch(read_header(wrong), np.zeros(len(wrong) - HEADER_BYTES, dtype=np.uint8))
    [last] = Batches(PLACE, 0, 100).take(answer(batch_at(5, NewRecord(None, b"f"))))
    return [first, damaged, second, unreadable, last]


@pytest.mark.feature("S-01")
def test_a_batch_that_cannot_be_decoded_is_a_row_if_that_is_asked_for() -> None:
    columns = ("value", "topic", "partition", "offset", "_corrupt")
    found = pa.Table.from_batches(chunks(damaged_in_different_ways(), ColumnBuilder(PLACE, 0, 100, columns)))
    assert [(row["offset"], row["value"], row["_corrupt"]) for row in found.to_pylist()] == [
        (0, b"a", None),
        (1, None, "its checksum is wrong"),
        (3, b"d", None),
        (4, None, "record 0 of 1 is damaged"),
        (5, b"f", None),
    ]
    assert set(found.column("topic").to_pylist()) == {"prices"}


def test_otherwise_it_is_an_error_that_says_where() -> None:
    builder = ColumnBuilder(PLACE, 0, 100, ("value",))
    with pytest.raises(DamagedBatch, match="prices-3 at offset 1: its checksum is wrong"):
        list(chunks(damaged_in_different_ways(), builder))
    with pytest.raises(DamagedBatch, match="prices-3 at offset 4: record 0 of 1 is damaged"):
        list(chunks(damaged_in_different_ways()[2:], builder))


def test_a_range_that_begins_inside_of_damage() -> None:
    builder = ColumnBuilder(PLACE, 2, 100, ("offset", "_corrupt"))
    [row] = pa.Table.from_batches(chunks(damaged_in_different_ways()[1:2], builder)).to_pylist()
    assert row == {"offset": 2, "_corrupt": "its checksum is wrong"}


def test_damage_is_in_the_quarantine_of_a_table() -> None:
    table = prices("price,_offset,_error,_corrupt")
    rows = [
        table.rows(batch)
        for batch in chunks(damaged_in_different_ways()[1:2], ColumnBuilder(PLACE, 0, 9, table.needed))
    ]
    reason = "its checksum is wrong"
    assert pa.Table.from_batches(rows).to_pylist() == [
        {"price": None, "_offset": 1, "_error": reason, "_corrupt": reason}
    ]


# --- the latest of each key ------------------------------------------------------------------------------------------


@pytest.mark.feature("X-04")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=20), max_size=8), st.integers(1, 30))
def test_the_latest_of_each_key_counts(groups: list[list[tuple[int, bool]]], merge_rows: int) -> None:
    latest, expected, offset = Latest(merge_rows), {}, 0
    for group in groups:
        keys = [b"%d" % key for key, _ in group]
        has_value = pa.array([alive for _, alive in group], pa.bool_())
        latest.add(pa.array(keys, pa.binary()), np.arange(offset, offset + len(group)), has_value)
        for key, (_, alive) in zip(keys, group, strict=True):
            expected[key] = offset if alive else None
            offset += 1
    assert latest.offsets().tolist() == sorted(each for each in expected.values() if each is not None)


def test_what_is_not_wanted_is_not_even_fetched() -> None:
    only = np.array([3, 4, 90])
    batches = Batches(PLACE, 0, 100, Choice(only))
    assert batches.position == 3
    fetched = answer(*(batch_at(offset, NewRecord(b"k", b"x")) for offset in range(2, 8)))
    assert [each.header.base_offset for each in batches.take(fetched) if isinstance(each, RecordBatch)] == [3, 4]
    assert batches.position == 90
    list(batches.take(answer(batch_at(90, NewRecord(b"k", b"x")))))
    assert batches.is_done
    assert Batches(PLACE, 0, 100, Choice(np.empty(0, dtype=np.int64))).is_done
