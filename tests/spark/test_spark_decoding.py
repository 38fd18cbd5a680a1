"""Record batches to Arrow columns, against batches made record by record; and bytes that are no records."""

from __future__ import annotations

import datetime
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.fetches import Aborted, Fetched
from penstock.model.batch import CRC_START, HEADER_BYTES, read_header, stamp
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, build_marker
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.records.batches import Batches, DamagedBatch, RecordBatch
from penstock_spark.reading.records.columns import ColumnBuilder
from penstock_spark.reading.records.fields import FIELDS

PLACE = TopicPartition("prices", 3)
TIME = 1_700_000_000_000
ALL = tuple(FIELDS)
_LAST_DELTA_AT, _COUNT_AT = 23, HEADER_BYTES - 4  # in a batch

maybe_bytes = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=10), maybe_bytes), max_size=3).map(tuple)
records = st.builds(
    NewRecord, maybe_bytes, maybe_bytes, headers, st.integers(-(10**9), 10**9).map(lambda delta: TIME + delta)
)


def answer(*batches: bytearray, aborted: tuple[Aborted, ...] = (), cut: int = 0) -> Fetched:
    data = b"".join(map(bytes, batches))
    return Fetched(0, 1 << 40, 1 << 40, 0, aborted, memoryview(data)[: len(data) - cut])


def at(offset: int, batch: bytearray) -> bytearray:
    stamp(batch, offset, 0)
    return batch


def table(fetched: Fetched, first: int = 0, end: int = 1 << 40, columns: tuple[str, ...] = ALL) -> list[dict[str, Any]]:
    found = []
    for each in Batches(PLACE, first, end).take(fetched):
        assert isinstance(each, RecordBatch)
        found.append(each)
    result = ColumnBuilder(PLACE, first, end, columns).build(found)
    result.validate(full=True)
    rows: list[dict[str, Any]] = result.to_pylist()
    return rows


def row(offset: int, record: NewRecord) -> dict[str, Any]:
    assert record.timestamp is not None
    time = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=record.timestamp)
    return {
        "key": record.key,
        "value": record.value,
        "topic": "prices",
        "partition": 3,
        "offset": offset,
        "timestamp": time,
        "timestampType": 0,
        "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
        "_corrupt": None,
    }


@pytest.mark.feature("S-01")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(records, min_size=1, max_size=8), min_size=1, max_size=4),
    st.integers(0, 4),
    st.integers(0, 12),
    st.integers(0, 30),
)
def test_every_record_in_the_range_becomes_a_row(
    groups: list[list[NewRecord]], codec: int, first: int, size: int
) -> None:
    batches, expected, offset = [], [], 0
    for group in groups:
        batches.append(at(offset, build_batch(group, timestamp=TIME, codec=codec)))
        expected += [row(offset + index, record) for index, record in enumerate(group)]
        offset += len(group) + 2  # holes, as compaction leaves them
    wanted = [each for each in expected if first <= each["offset"] < first + size]
    assert table(answer(*batches), first, first + size) == wanted


@pytest.mark.parametrize(
    "columns", [("offset",), ("value", "offset"), ("topic", "partition"), ("timestamp",), ("key",)]
)
def test_only_the_wanted_columns(columns: tuple[str, ...]) -> None:
    group = [NewRecord(b"k", b"v", (("h", b"x"),), TIME + index) for index in range(5)]
    batch = at(7, build_batch(group, timestamp=TIME))
    expected = [{name: row(7 + index, record)[name] for name in columns} for index, record in enumerate(group)]
    assert table(answer(batch), 8, 11, columns) == expected[1:4]


def test_log_append_time_is_that_of_the_batch() -> None:
    batch = build_batch([NewRecord(None, b"a"), NewRecord(None, b"b")], timestamp=TIME, log_append_time=True)
    rows = table(answer(at(0, batch)))
    assert {each["timestampType"] for each in rows} == {1}
    assert {each["timestamp"] for each in rows} == {datetime.datetime.fromtimestamp(TIME / 1000, datetime.UTC)}


def transactional(offset: int, producer_id: int, value: bytes) -> bytearray:
    record = NewRecord(None, value)
    batch = build_batch(
        [record], timestamp=TIME, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )
    return at(offset, batch)


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytearray:
    return at(offset, build_marker(Marker(producer_id, 0, 0, is_commit), TIME))


@pytest.mark.feature("S-01", "X-02")
def test_aborted_transactions_and_markers_are_left_out() -> None:
    fetched = answer(
        transactional(0, 7, b"aborted"),
        transactional(1, 8, b"committed"),
        marker(2, 7, is_commit=False),
        marker(3, 8, is_commit=True),
        transactional(4, 7, b"the next of 7"),
        marker(5, 7, is_commit=True),
        at(6, build_batch([NewRecord(None, b"plain")], timestamp=TIME)),
        aborted=(Aborted(7, 0),),
    )
    batches = Batches(PLACE, 0, 100)
    assert [each["value"] for each in table(fetched)] == [b"committed", b"the next of 7", b"plain"]
    list(batches.take(fetched))
    assert batches.position == 7
    assert batches.skipped_bytes > 0


def test_a_batch_that_is_cut_is_fetched_again() -> None:
    first, second = (
        at(0, build_batch([NewRecord(None, b"a")], timestamp=TIME)),
        at(1, build_batch([NewRecord(None, b"b")], timestamp=TIME)),
    )
    batches = Batches(PLACE, 0, 100)
    assert len(list(batches.take(answer(first, second, cut=5)))) == 1
    assert batches.position == 1


def test_damage_is_told_with_its_place_and_what_follows_is_read() -> None:
    spoiled = at(0, build_batch([NewRecord(None, b"a" * 50)], timestamp=TIME))
    spoiled[-10] ^= 1
    sound = at(1, build_batch([NewRecord(None, b"b")], timestamp=TIME))
    damaged, other = Batches(PLACE, 0, 100).take(answer(spoiled, sound))
    assert isinstance(damaged, DamagedBatch)
    assert str(damaged) == "prices-3 at offset 0: its checksum is wrong"
    assert isinstance(other, RecordBatch)


@pytest.mark.parametrize("count", [(1 << 31) - 1, 100, -1])
def test_a_batch_that_cannot_have_so_many_records(count: int) -> None:
    """Room is made for as many as it says, and with `columns=offset` they are not even looked at."""
    batch = at(5, build_batch([NewRecord(None, b"a")], timestamp=TIME))
    batch[_LAST_DELTA_AT : _LAST_DELTA_AT + 4] = struct.pack(">i", max(count, 1) - 1)
    batch[_COUNT_AT:HEADER_BYTES] = struct.pack(">i", count)
    batch[CRC_START - 4 : CRC_START] = struct.pack(">I", crc32c(bytes(batch[CRC_START:])))
    (damaged,) = Batches(PLACE, 0, 1 << 40).take(answer(batch))
    assert isinstance(damaged, DamagedBatch)
    assert str(damaged).startswith(f"prices-3 at offset 5: it says that it has {count} records")


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120), st.integers(1, 12))
def test_bytes_that_are_no_records_are_refused_and_nothing_worse(payload: bytes, count: int) -> None:
    header = read_header(build_batch([NewRecord(None, b"")] * count, timestamp=TIME))
    batch = RecordBatch(header, np.frombuffer(payload, dtype=np.uint8))
    with pytest.raises(DamagedBatch):
        ColumnBuilder(PLACE, 0, 100, ALL).build([batch])


@settings(max_examples=300, deadline=None)
@given(st.lists(records, min_size=1, max_size=5), st.data())
def test_a_spoiled_byte_gives_rows_or_a_refusal(group: list[NewRecord], data: st.DataObject) -> None:
    batch = build_batch(group, timestamp=TIME)
    payload = bytearray(batch[HEADER_BYTES:])
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] ^= data.draw(st.integers(1, 255))
    unpacked = RecordBatch(read_header(batch), np.frombuffer(payload, dtype=np.uint8))
    try:
        result = ColumnBuilder(PLACE, 0, 1 << 40, ("key", "value", "offset", "timestamp", "headers")).build([unpacked])
    except DamagedBatch:
        return
    assert result.num_rows <= len(group)
    for column in result.columns:
        if not pa.types.is_list(column.type):  # names of headers may not be UTF-8
            column.validate(full=True)
