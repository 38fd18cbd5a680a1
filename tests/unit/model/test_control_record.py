"""Transaction markers: Kafka's bytes, and an error for every other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.batch import HEADER_BYTES, check_batch, crc_matches, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, build_marker, parse_marker
from penstock.model.errors import ErrorCode, KafkaError

COMMIT = Marker(producer_id=7, producer_epoch=3, coordinator_epoch=12, is_commit=True)


def control_batch(*records: tuple[bytes | None, bytes | None], transactional: bool = True) -> bytearray:
    return build_batch(
        [NewRecord(*record) for record in records],
        timestamp=5,
        producer_id=7,
        producer_epoch=3,
        transactional=transactional,
        control=True,
    )


def test_the_bytes_are_kafkas() -> None:
    batch = build_marker(COMMIT, 1_000)
    header = read_header(batch)
    assert header.attributes == 0x30
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, -1)
    assert (header.record_count, header.last_offset_delta) == (1, 0)
    assert header.base_timestamp == header.max_timestamp == 1_000
    assert crc_matches(batch, 0, header)
    # length 16, attributes, both deltas 0, a key of 4 bytes, a value of 6, no headers
    assert bytes(batch[HEADER_BYTES:]).hex() == "2000000008000000010c00000000000c00"
    abort = build_marker(COMMIT._replace(is_commit=False), 1_000)
    assert bytes(abort[HEADER_BYTES:]).hex() == "2000000008000000000c00000000000c00"


def test_no_client_may_send_one() -> None:
    with pytest.raises(KafkaError) as raised:
        check_batch(build_marker(COMMIT, 1_000))
    assert raised.value.code is ErrorCode.INVALID_RECORD


@given(
    producer_id=st.integers(0, (1 << 63) - 1),
    producer_epoch=st.integers(0, (1 << 15) - 1),
    coordinator_epoch=st.integers(-(1 << 31), (1 << 31) - 1),
    is_commit=st.booleans(),
    now_ms=st.integers(0, 1 << 50),
)
def test_what_is_built_is_parsed(
    producer_id: int, producer_epoch: int, coordinator_epoch: int, is_commit: bool, now_ms: int
) -> None:
    marker = Marker(producer_id, producer_epoch, coordinator_epoch, is_commit)
    batch = build_marker(marker, now_ms)
    assert parse_marker(batch, read_header(batch)) == marker


def test_fields_of_a_later_version_are_skipped() -> None:
    batch = control_batch((b"\x00\x01\x00\x00more", b"\x00\x01\x00\x00\x00\x0cmore"))
    assert parse_marker(batch, read_header(batch)) == COMMIT._replace(is_commit=False)


def test_compaction_may_have_left_no_record() -> None:
    batch = control_batch()
    assert parse_marker(batch, read_header(batch)) is None


@pytest.mark.parametrize(
    "batch",
    [
        build_batch([NewRecord(b"\x00\x00\x00\x01", b"\x00" * 6)], timestamp=5, producer_id=7, producer_epoch=3),
        control_batch((b"\x00\x00\x00\x01", b"\x00" * 6), transactional=False),
        control_batch((b"\x00\x00\x00\x01", b"\x00" * 6), (b"\x00\x00\x00\x01", b"\x00" * 6)),
        control_batch((None, b"\x00" * 6)),
        control_batch((b"\x00\x00\x00\x01", None)),
        control_batch((b"\x00\x00\x01", b"\x00" * 6)),
        control_batch((b"\x00\x00\x00\x01", b"\x00" * 5)),
        control_batch((b"\xff\xff\x00\x01", b"\x00" * 6)),
        control_batch((b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x00")),
        control_batch((b"\x00\x00\x00\x02", b"\x00" * 6)),
    ],
    ids=["data", "not transactional", "two", "no key", "no value", "short key", "short value", "old key", "old value",
         "leader change"],
)  # fmt: skip
def test_anything_else_is_corrupt(batch: bytearray) -> None:
    with pytest.raises(KafkaError) as raised:
        parse_marker(batch, read_header(batch))
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE


@given(changes=st.lists(st.tuples(st.integers(0, 78), st.integers(0, 255)), max_size=8), cut=st.integers(61, 78))
def test_hostile_bytes_are_a_marker_or_corrupt(changes: list[tuple[int, int]], cut: int) -> None:
    batch = build_marker(COMMIT, 1_000)[:cut]
    for position, value in changes:
        if position < len(batch):
            batch[position] = value
    code = None
    try:
        parse_marker(batch, read_header(batch))
    except KafkaError as error:
        code = error.code
    assert code in (None, ErrorCode.CORRUPT_MESSAGE)
