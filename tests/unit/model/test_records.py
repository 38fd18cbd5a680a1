"""Records inside batches: decoding what is right, refusing what is not, and staying small while doing so."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import compression
from penstock.model.batch import HEADER_BYTES, BatchHeader, check_batch, read_header
from penstock.model.batch_builder import NewRecord, assemble_batch, build_batch, repack
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.record import Record
from penstock.model.records import InvalidRecords, check_records, iter_records, records_from, records_payload
from penstock.model.varint import append_signed, read_signed, signed_size
from tests.support import batches as by_hand

CODECS = range(5)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
new_records = st.builds(
    NewRecord,
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=200),
    headers,
    st.none() | st.integers(0, 1 << 50),
)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varints_round_trip(value: int) -> None:
    buffer = bytearray()
    append_signed(buffer, value)
    assert read_signed(buffer, 0) == (value, len(buffer))
    assert signed_size(value) == len(buffer)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 11])
def test_varints_that_never_end(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_signed(data, 0)


@pytest.mark.feature("P-20")
@given(st.lists(new_records, min_size=1, max_size=8), st.sampled_from(CODECS))
def test_batches_round_trip(records: list[NewRecord], codec: int) -> None:
    batch = build_batch(records, timestamp=77, codec=codec)
    header = check_batch(batch)
    check_records(records_payload(batch, header), header, compacted=False)
    expected = [
        Record(index, 77 if one.timestamp is None else one.timestamp, one.key, one.value, one.headers)
        for index, one in enumerate(records)
    ]
    assert list(iter_records(batch)) == expected
    assert header.max_timestamp == max(one.timestamp for one in expected)
    assert list(iter_records(repack(records_payload(batch, header), header, (codec + 1) % 5))) == expected


@pytest.mark.feature("P-20")
@pytest.mark.parametrize("codec", CODECS)
def test_batches_made_by_others(codec: int) -> None:
    records = [by_hand.Record(key=b"k", value=b"v" * size, headers=(("h", None),)) for size in (0, 1, 100_000)]
    batch = by_hand.batch(records, codec=codec)
    assert [(one.key, one.value, one.headers) for one in iter_records(batch)] == [
        (one.key, one.value, one.headers) for one in records
    ]


def test_what_we_write_others_read() -> None:
    for codec in CODECS:
        batch = build_batch([NewRecord(b"k", b"v" * 100_000)], timestamp=5, codec=codec)
        assert by_hand.decode_records(bytes(batch))[0].value == b"v" * 100_000


def test_log_append_time_is_the_time_of_every_record() -> None:
    records = [NewRecord(None, b"a", (), 1), NewRecord(None, b"b", (), 9)]
    batch = build_batch(records, timestamp=0, log_append_time=True)
    assert [record.timestamp for record in iter_records(batch)] == [9, 9]


def test_control_batches_hold_no_records_of_users() -> None:
    assert list(iter_records(build_batch([NewRecord(b"k", b"v")], timestamp=0, control=True))) == []


def header_of(batch: bytes | bytearray) -> BatchHeader:
    return read_header(batch)


def with_payload(payload: bytes, count: int) -> bytearray:
    header = read_header(build_batch([NewRecord(None, b"x")] * count, timestamp=0))
    return assemble_batch(header, payload)


GOOD = bytes(records_payload(one := build_batch([NewRecord(b"k", b"v")], timestamp=0), read_header(one)))


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (GOOD[:-1], 1),
        (GOOD + b"\x00", 1),
        (GOOD, 2),
        (GOOD + GOOD, 2),  # offset delta 0 twice
        (b"\x02" + GOOD[1:], 1),  # a length of 1
        (GOOD[:4] + b"\x7e" + GOOD[5:], 1),  # a key that runs over
        (GOOD[:4] + b"\x05" + GOOD[5:], 1),  # a key of length -3
        (GOOD[:-1] + b"\x02", 1),  # a header that is not there
        (GOOD[:-1] + b"\x01", 1),  # -1 headers
        (b"\xff" * 20, 1),
        (b"", 1),
    ],
)
def test_records_that_do_not_decode(payload: bytes, count: int) -> None:
    batch = with_payload(payload, count)
    with pytest.raises(InvalidRecords) as raised:
        check_records(records_payload(batch, header_of(batch)), header_of(batch), compacted=False)
    assert raised.value.code is ErrorCode.INVALID_RECORD
    assert all(0 <= index < count for index, _ in raised.value.bad)


def test_compacted_topics_name_each_record_without_a_key() -> None:
    batch = build_batch([NewRecord(key, b"v") for key in (b"a", None, b"c", None)], timestamp=0)
    check_records(records_payload(batch, header_of(batch)), header_of(batch), compacted=False)
    with pytest.raises(InvalidRecords) as raised:
        check_records(records_payload(batch, header_of(batch)), header_of(batch), compacted=True)
    assert [index for index, _ in raised.value.bad] == [1, 3]


@given(st.binary(max_size=200), st.sampled_from(CODECS))
def test_noise_is_refused_never_a_crash(noise: bytes, codec: int) -> None:
    header = read_header(build_batch([NewRecord(None, b"x")], timestamp=0, codec=codec))
    batch = bytearray(HEADER_BYTES) + noise
    header = header._replace(batch_length=len(batch) - 12)
    with pytest.raises(KafkaError):
        check_records(records_payload(batch, header), header, compacted=True)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused_while_it_is_small(codec: int) -> None:
    size = 64 << 20
    bomb = bytes(compression.compress(codec, bytes(size)))
    tracemalloc.start()
    try:
        with pytest.raises(KafkaError) as raised:
            compression.decompress(codec, bomb, 1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    assert peak < 16 << 20
    assert len(compression.decompress(codec, bomb, size)) == size


def test_snappy_in_both_forms() -> None:
    data = bytes(range(256)) * 500
    import cramjam

    assert bytes(compression.decompress(2, bytes(cramjam.snappy.compress_raw(data)), len(data))) == data
    xerial = bytes(compression.compress(2, data))
    assert xerial.startswith(b"\x82SNAPPY\x00")
    assert bytes(compression.decompress(2, xerial, len(data))) == data
    for cut in (17, 30, len(xerial) - 1):
        with pytest.raises(KafkaError):
            compression.decompress(2, xerial[:cut], len(data))


def test_a_snappy_block_that_lies_about_its_length() -> None:
    with pytest.raises(KafkaError):
        compression.decompress(2, b"\xff\xff\xff\xff\x07" + b"x", 1 << 40)


@pytest.mark.parametrize("codec", range(5))
def test_some_records_of_a_batch(codec: int) -> None:
    records = [NewRecord(b"k%d" % n, b"v" * 100, (("h", None),)) for n in range(50)]
    batch = build_batch(records, timestamp=5, base_offset=1000, codec=codec)
    header = read_header(batch)
    everything = list(iter_records(batch))
    limit = 1 << 20
    assert records_from(batch, header, 0, 3, limit, limit=limit) == everything[:3]
    assert records_from(batch, header, 1040, 100, limit, limit=limit) == everything[40:]
    assert records_from(batch, header, 1050, 100, limit, limit=limit) == []
    few = records_from(batch, header, 1010, 100, 250, limit=limit)
    assert few == everything[10:13], "the one that passes the bound is the last"


def test_some_records_of_a_damaged_batch() -> None:
    batch = build_batch([NewRecord(b"k", b"value")], timestamp=5)
    header = read_header(batch)
    with pytest.raises(KafkaError) as refused:
        records_from(batch[:-2] + b"\xff\xff", header, 0, 1, 100, limit=1 << 20)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
