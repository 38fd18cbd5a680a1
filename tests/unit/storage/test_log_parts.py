"""The parts of a log by themselves: indexes, verified regions, epochs, scans, snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.files import RealFiles
from penstock.storage import layout
from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.checkpoint.snapshot import decode_snapshot, encode_snapshot
from penstock.storage.segment.batch_scanner import CHUNK_BYTES, BatchScanner, ExpectedOffsets, find_batch
from penstock.storage.segment.checked_regions import VerifiedRegions
from penstock.storage.segment.offset_index import OffsetIndex, decode_offset_index
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import TimeIndex, Times, decode_time_index
from tests.unit.storage.log_rig import make_batch


@pytest.mark.feature("P-03")
def test_the_offset_index_finds_the_entry_at_or_before() -> None:
    index = OffsetIndex()
    for entry in ((10, 100), (20, 200), (30, 300)):
        index.add(*entry)
    assert [index.floor(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 100, 100, 200, 300]
    assert [index.floor_position(position) for position in (99, 100, 299, 300)] == [-1, 100, 200, 300]


def test_the_time_index_says_where_a_time_cannot_be_before() -> None:
    index = TimeIndex()
    for entry in ((5, 10), (5, 20), (9, 30)):
        index.add(*entry)
    assert [index.floor(timestamp) for timestamp in (5, 6, 9, 10)] == [-1, 20, 20, 30]


def test_index_files_know_what_they_are() -> None:
    offsets, times = OffsetIndex(), TimeIndex()
    for number in range(1, 50):
        offsets.add(number, number * 10)
        times.add(number, number)
    data = offsets.encode(7, 5000)
    decoded, covered = decode_offset_index(data, 7)
    assert (decoded.positions, covered) == (offsets.positions, 5000)
    timed = times.encode(7, 5000, Times(1, 2, 3))
    found, covered, of_segment = decode_time_index(timed, 7)
    assert (found.timestamps, covered, of_segment) == (times.timestamps, 5000, (1, 2, 3))
    for position in range(len(data)):
        broken = bytearray(data)
        broken[position] ^= 1
        with pytest.raises(ValueError):
            decode_offset_index(bytes(broken), 7)
    for broken_data in (data[:-1], data + b"\0", b"", data[:10]):
        with pytest.raises(ValueError):
            decode_offset_index(broken_data, 7)
    with pytest.raises(ValueError):
        decode_time_index(timed, 8)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
def test_verified_regions_are_the_union(regions: list[tuple[int, int]]) -> None:
    verified = VerifiedRegions(70)
    known = set(range(70, 200))
    for start, length in regions:
        verified.add(start, start + length)
        known |= set(range(start, start + length))
    for start in range(0, 90, 3):
        for end in range(start + 1, 90, 4):
            assert verified.covers(start, end) == (set(range(start, end)) <= known)


def test_epochs_answer_as_kafka_does() -> None:
    epochs = Epochs([(0, 0), (2, 10), (5, 20)])
    assert epochs.end_of(0, 30) == (0, 10)
    assert epochs.end_of(1, 30) == (0, 10)
    assert epochs.end_of(2, 30) == (2, 20)
    assert epochs.end_of(5, 30) == (5, 30)
    assert epochs.end_of(6, 30) == (-1, -1)
    assert epochs.end_of(-1, 30) == (-1, -1)
    assert [epochs.at(offset) for offset in (0, 9, 10, 25)] == [0, 0, 2, 5]
    assert epochs.cut_front(12)
    assert list(epochs.entries) == [(2, 12), (5, 20)]
    assert epochs.end_of(1, 30) == (1, 12)
    epochs.begin(6, 30)
    epochs.begin(7, 30)
    assert list(epochs.entries) == [(2, 12), (5, 20), (7, 30)], "nothing was written under 6"


def test_snapshots_are_whole_or_nothing() -> None:
    entries = [SegmentEntry(0, 10, 500, Times(1, 2, 3)), SegmentEntry(10, 12, 90, Times(4, 5, 11))]
    data = encode_snapshot(12, entries, [(0, 0), (3, 11)], Producers().encode())
    snapshot = decode_snapshot(data)
    assert (snapshot.log_end, snapshot.segments, snapshot.epochs) == (12, entries, [(0, 0), (3, 11)])
    for position in range(len(data)):
        with pytest.raises(ValueError):
            decode_snapshot(data[:position])


def test_a_scan_over_chunk_borders_and_a_search_in_noise(tmp_path: Path) -> None:
    batches = [bytes(make_batch(b"x" * 300_000, base_offset=offset)) for offset in range(9)]
    path = tmp_path / "segment"
    noise = b"\x00" * 7 + b"\x02" * (CHUNK_BYTES - 40)
    path.write_bytes(b"".join(batches) + noise + bytes(make_batch(b"after", base_offset=9)) + b"end")
    file = RealFiles().open(path, write=False)
    size = path.stat().st_size
    scanner = BatchScanner(file, 0, size, ExpectedOffsets(0), verify=True)
    assert [header.base_offset for _, header in scanner] == list(range(9))
    border = sum(map(len, batches))
    assert scanner.position == border
    assert scanner.reason is not None
    assert find_batch(file, border, size, min_offset=9) == border + len(noise)
    assert find_batch(file, border, size, min_offset=10) is None
    file.close()


def test_names() -> None:
    directory = Path("d")
    assert layout.offset_of(layout.log_path(directory, 5).name, layout.LOG) == 5
    assert layout.offset_of("5.log", layout.LOG) is None
    assert layout.offset_of("0000000000000000000x.log", layout.LOG) is None
    assert layout.swap_range(layout.swap_path(directory, 5, 9).name) == (5, 9)
    assert layout.swap_range("5.swap") is None
