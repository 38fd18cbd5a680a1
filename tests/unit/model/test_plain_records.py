"""The quick way through records sees what the careful way sees, whatever the bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.batch import BatchHeader, read_header
from penstock.model.batch_builder import NewRecord, assemble_batch, build_batch
from penstock.model.errors import KafkaError
from penstock.model.plain_records import take_plain
from penstock.model.record import Record
from penstock.model.records import (
    batch_records,
    read_headers,
    record_at,
    record_timestamp,
    records_payload,
    scan_records,
)

texts = st.none() | st.binary(max_size=6) | st.sampled_from([b"k" * 63, b"k" * 64, b"v" * 8191, b"v" * 8192])
headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2).map(tuple)
times = st.none() | st.integers(0, 1 << 40) | st.integers(0, 200)
new_records = st.builds(NewRecord, texts, texts, st.just(()) | headers, times)
changes = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3)


def carefully(payload: bytes, header: BatchHeader) -> list[Record] | None:
    """None where they do not decode."""
    try:
        return [
            Record(
                header.base_offset + span.offset_delta,
                record_timestamp(header, span),
                span.key,
                None if span.value_end < 0 else payload[span.value_start : span.value_end],
                read_headers(payload, span.headers_start),
            )
            for span in scan_records(payload, header.record_count)
        ]
    except ValueError:
        return None


def quickly(batch: bytes | bytearray, header: BatchHeader) -> list[Record] | None:
    try:
        return batch_records(batch, header)
    except KafkaError:
        return None


@settings(max_examples=300)
@given(st.lists(new_records, min_size=1, max_size=90), changes, st.booleans(), st.integers(-2, 2))
def test_both_ways_see_the_same(
    records: list[NewRecord], changes: list[tuple[int, int]], append_time: bool, more: int
) -> None:
    batch = build_batch(records, timestamp=77, base_offset=5, log_append_time=append_time)
    header = read_header(batch)
    for at, byte in changes:
        batch[61 + at % (len(batch) - 61)] = byte
    header = header._replace(record_count=max(0, header.record_count + more))
    payload = bytes(records_payload(batch, header))
    assert quickly(batch, header) == carefully(payload, header)


def test_the_plain_ones_are_taken_the_quick_way() -> None:
    records = [NewRecord(b"key" if number % 2 else None, b"v" * 100) for number in range(1000)]
    batch = build_batch(records, timestamp=77)
    payload = bytes(records_payload(batch, read_header(batch)))
    taken: list[Record] = []
    assert take_plain(payload, 0, 1000, 0, 77, taken) == len(payload)
    assert [(record.offset, record.key, record.value) for record in taken] == [
        (index, record.key, record.value) for index, record in enumerate(records)
    ]


@given(st.lists(new_records, min_size=1, max_size=90), st.integers(0, 100))
def test_one_is_found_by_its_offset(records: list[NewRecord], at: int) -> None:
    batch = build_batch(records, timestamp=77, base_offset=5)
    header = read_header(batch)
    expected = {record.offset: record for record in batch_records(batch, header)}
    assert record_at(batch, header, at) == expected.get(at)


def test_offsets_that_compaction_has_taken_away() -> None:
    batch = build_batch([NewRecord(None, b"%d" % number) for number in range(5)], timestamp=1)
    spans = list(scan_records(bytes(records_payload(batch, read_header(batch))), 5))
    payload = bytes(records_payload(batch, read_header(batch)))
    kept = b"".join(payload[span.start : span.end] for span in (spans[0], spans[3]))
    compacted = assemble_batch(read_header(batch)._replace(record_count=2), kept)
    header = read_header(compacted)
    found = [record_at(compacted, header, offset) for offset in range(-1, 6)]
    assert [None if record is None else record.offset for record in found] == [None, 0, None, None, 3, None, None]
