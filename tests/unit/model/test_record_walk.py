"""The tight loops over records say the same as the code that takes its time."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.record_walk import first_since, keys_and_values, latest_from, sound_steps
from penstock.model.records import InvalidRecords, batch_records, records_payload, scan_records

headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3).map(tuple)
times = st.integers(0, 40) | st.integers(0, 1 << 40)
new_records = st.builds(
    NewRecord, st.none() | st.binary(max_size=3), st.none() | st.binary(max_size=100), headers, times
)


def taking_its_time(payload: Buffer, count: int, keyed: bool) -> bool:
    try:
        spans = list(scan_records(payload, count))
    except ValueError:
        return False
    right = [span.offset_delta == index and not (keyed and span.key is None) for index, span in enumerate(spans)]
    return all(right)


@given(st.lists(new_records, min_size=1, max_size=6), st.booleans(), st.data())
def test_sound_is_what_decodes(records: list[NewRecord], keyed: bool, data: st.DataObject) -> None:
    batch = build_batch(records, timestamp=0)
    payload = bytearray(records_payload(batch, read_header(batch)))
    count = len(records)
    headers_in_all = sum(len(record.headers) for record in records)
    if all(record.key is not None for record in records) or not keyed:
        assert sound_steps(payload, count, keyed=keyed) == count + headers_in_all
        assert sound_steps(payload, count, keyed=keyed, steps_max=count + headers_in_all) == count + headers_in_all
        assert sound_steps(payload, count, keyed=keyed, steps_max=count + headers_in_all - 1) == 0
    for _ in range(3):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        assert (sound_steps(payload, count, keyed=keyed) > 0) == taking_its_time(payload, count, keyed)
    cut = bytes(payload[: data.draw(st.integers(0, len(payload)))])
    assert (sound_steps(cut, count, keyed=keyed) > 0) == taking_its_time(cut, count, keyed)


@given(st.binary(max_size=60), st.integers(1, 4))
def test_noise_is_never_sound_by_mistake(noise: bytes, count: int) -> None:
    assert (sound_steps(noise, count, keyed=False) > 0) == taking_its_time(noise, count, False)


@given(st.lists(new_records, min_size=1, max_size=6), st.data())
def test_keys_and_values_are_those_of_the_records(records: list[NewRecord], data: st.DataObject) -> None:
    batch = build_batch(records, timestamp=0)
    header = read_header(batch)
    expected = [(record.key, record.value) for record in batch_records(batch, header)]
    payload = bytearray(records_payload(batch, header))
    assert keys_and_values(payload, len(records)) == expected
    assert keys_and_values(batch, len(records), HEADER_BYTES, len(batch)) == expected
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = keys_and_values(payload, len(records))
    except (ValueError, IndexError):
        assert not taking_its_time(payload, len(records), False)
    else:
        assert len(found) == len(records)


@given(st.binary(max_size=60), st.integers(1, 4))
def test_noise_has_no_keys_and_values(noise: bytes, count: int) -> None:
    try:
        keys_and_values(noise, count)
    except (ValueError, IndexError):
        assert not taking_its_time(noise, count, False)


def look(batch: bytearray, header: BatchHeader, wanted: int, start: int, end: int) -> tuple[int, int] | None:
    for record in batch_records(batch, header):
        if record.timestamp >= wanted and start <= record.offset < end:
            return record.timestamp, record.offset
    return None


@given(st.lists(new_records, min_size=1, max_size=80), times, st.integers(90, 190), st.booleans())
def test_times_are_found(records: list[NewRecord], wanted: int, start: int, append_time: bool) -> None:
    batch = build_batch(records, timestamp=0, base_offset=100, log_append_time=append_time)
    header = read_header(batch)
    payload = records_payload(batch, header)
    for first, end in ((start, 1000), (0, start)):
        assert first_since(payload, header, wanted, first, end) == look(batch, header, wanted, first, end)
    later = [record.timestamp for record in batch_records(batch, header) if record.offset >= start]
    assert latest_from(payload, header, start) == max(later, default=-1)


@given(st.binary(max_size=60))
def test_times_in_noise(noise: bytes) -> None:
    header = read_header(build_batch([NewRecord(None, b"x")] * 5, timestamp=0))
    for search in (lambda: first_since(noise, header, 1 << 62, 0, 9), lambda: latest_from(noise, header, 0)):
        try:
            search()
        except ValueError:
            continue


@pytest.mark.parametrize(
    "error", [KafkaError(ErrorCode.CORRUPT_MESSAGE, "a reason"), InvalidRecords([(1, "bad"), (3, "worse")], "some")]
)
def test_errors_come_back_from_other_processes(error: KafkaError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.code, copy.message) == (error.code, error.message)
    assert getattr(copy, "bad", None) == getattr(error, "bad", None)
