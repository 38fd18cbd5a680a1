"""Batches that members put into what coordinators store: none is whole on the disk, and nothing of them is lost."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from penstock.broker.coordination.look_alikes import ZEROS_MAX, holds_look_alike, without_look_alikes
from penstock.model.batch import (
    CRC_START,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    check_batch,
    read_header,
    stamp,
    write_header,
)
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.compression import SNAPPY
from penstock.model.records import iter_records
from penstock.runtime.files import RealFiles
from penstock.storage.segment.batch_scanner import find_batch
from penstock.storage.segment.preallocation import STEP_BYTES

pytestmark = pytest.mark.feature("P-05")

NOW_MS = 1_700_000_000_000


def embedded(value: bytes = b"inside", *, base_offset: int = 1 << 20) -> bytes:
    return bytes(build_batch([NewRecord(None, value)], timestamp=NOW_MS, base_offset=base_offset))


def holding(*values: bytes) -> bytearray:
    return build_batch([NewRecord(b"key", value) for value in values], timestamp=NOW_MS)


def found_inside(tmp_path: Path, batch: bytearray, *, zeros_behind: int = 0) -> int | None:
    """What recovery finds behind the begin of a batch that was lost."""
    path = tmp_path / "segment"
    path.write_bytes(bytes(HEADER_BYTES) + batch[HEADER_BYTES:] + bytes(zeros_behind))
    file = RealFiles().open(path, write=False)
    try:
        return find_batch(file, 0, file.size(), min_offset=1)
    finally:
        file.close()


@pytest.mark.parametrize("before", range(17))
def test_no_batch_inside_is_found_where_its_holder_was_torn(tmp_path: Path, before: int) -> None:
    values = [b"x" * before + embedded() + b"more", embedded(b"y" * 1000)]
    batch = holding(*values)
    assert found_inside(tmp_path, batch) is not None
    stored = without_look_alikes(batch)
    assert found_inside(tmp_path, stored) is None
    assert read_header(stored).codec == SNAPPY
    check_batch(stored)
    assert [record.value for record in iter_records(stored)] == values


@pytest.mark.parametrize("zeros", [1, 40, 1000, STEP_BYTES])
def test_a_batch_that_ends_in_the_zeros_behind_its_holder(tmp_path: Path, zeros: int) -> None:
    """The record ends with its number of headers, another zero."""
    batch = holding(embedded(b"x" + bytes(zeros))[: -zeros - 1])  # the batch itself ends with one, too
    assert found_inside(tmp_path, batch, zeros_behind=STEP_BYTES) is not None
    stored = without_look_alikes(batch)
    assert found_inside(tmp_path, stored, zeros_behind=STEP_BYTES) is None


def test_a_batch_of_which_only_the_first_bytes_are_inside(tmp_path: Path) -> None:
    size = 500
    header = read_header(embedded())._replace(
        batch_length=size - LOG_OVERHEAD_BYTES,
        crc=crc32c(bytes(size - CRC_START)),
        base_timestamp=0,
        max_timestamp=0,
        producer_id=0,
        producer_epoch=0,
        base_sequence=0,
        record_count=0,
    )
    whole = bytearray(HEADER_BYTES)
    write_header(whole, header)
    batch = holding(bytes(whole[:CRC_START]))
    assert found_inside(tmp_path, batch, zeros_behind=STEP_BYTES) is not None
    stored = without_look_alikes(batch)
    assert found_inside(tmp_path, stored, zeros_behind=STEP_BYTES) is None


def test_many_headers_whose_batches_may_become_right_when_a_sector_is_lost() -> None:
    """Whatever their CRC says: there is one for each place where a sector may begin."""
    wrong = bytearray(embedded())
    wrong[17] ^= 1
    assert not holds_look_alike(holding(bytes(wrong)))
    batch = holding(bytes(wrong) * 100)
    stored = without_look_alikes(batch)
    assert stored != batch
    headers = [place for place in range(1, len(stored) - 16) if _may_begin(stored, place)]
    assert not [place for place in headers if place >= HEADER_BYTES]


def _may_begin(batch: bytearray, place: int) -> bool:
    return batch[place] == 0 and batch[place + 8] < 4 and batch[place + 16] == 2


@given(st.binary(max_size=200), st.lists(st.sampled_from([b"\0", b"\1", b"\2", b"\4", b"\xf0"]), max_size=200))
def test_in_the_other_form_no_header_begins_in_what_was_sent(rest: bytes, hostile: list[bytes]) -> None:
    values = [embedded() + rest, b"".join(hostile), rest]
    stored = without_look_alikes(holding(*values))
    preamble = 2
    assert not any(_may_begin(stored, place) for place in range(HEADER_BYTES + preamble, len(stored) - 16))
    assert [record.value for record in iter_records(stored)] == values


def test_what_a_transaction_says_of_itself_stays() -> None:
    batch = build_batch(
        [NewRecord(b"k", embedded())], timestamp=NOW_MS, producer_id=7, producer_epoch=3, transactional=True
    )
    stored = without_look_alikes(batch)
    stamp(stored, 12, 5)
    header = read_header(stored)
    assert (header.base_offset, header.leader_epoch, header.producer_id, header.producer_epoch) == (12, 5, 7, 3)
    assert header.is_transactional
    assert (header.record_count, header.base_timestamp, header.max_timestamp) == (1, NOW_MS, NOW_MS)


def test_ordinary_records_are_stored_as_they_are() -> None:
    random = Random(20)
    for _ in range(200):
        values = [
            struct.pack(">hqihq", 3, random.randrange(10 ** random.randint(1, 9)), random.randint(-1, 5), 0, NOW_MS)
            for _ in range(10)
        ]
        batch = holding(*values)
        assert without_look_alikes(batch) is batch


@pytest.mark.parametrize("size", [0, 1, 2, 62, 63, 1 << 20])
def test_values_of_any_size(size: int) -> None:
    batch = holding(embedded() + b"\x02" * size)
    (record,) = iter_records(without_look_alikes(batch))
    assert record.value == embedded() + b"\x02" * size


def test_a_commit_of_very_many_offsets_still_fits_its_topic() -> None:
    random = Random(20)
    values = [struct.pack(">hqihq", 3, random.randrange(10**6), 5, 0, NOW_MS) for _ in range(20_000)]
    batch = holding(*values)
    assert len(batch) < 1 << 20
    stored = without_look_alikes(batch)
    assert stored is not batch
    assert len(stored) < len(batch)
    assert [record.value for record in iter_records(stored)] == values


def test_a_batch_in_a_large_one_that_does_not_get_smaller(tmp_path: Path) -> None:
    inside = embedded(Random(20).randbytes(1000))
    batch = holding(Random(21).randbytes(600_000) + inside, inside)
    stored = without_look_alikes(batch)
    assert found_inside(tmp_path, stored) is None
    assert not holds_look_alike(stored)
    check_batch(stored)


def test_all_zeros_that_a_log_may_have_behind_a_batch_count() -> None:
    assert ZEROS_MAX >= STEP_BYTES
