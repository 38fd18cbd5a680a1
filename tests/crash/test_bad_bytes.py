"""Torn tails, zeros at the end, flipped bits, missing files: cut, or reported, never silently different."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from penstock.model.batch import iter_headers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.model.records import iter_records
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from tests.support.engine_bench import TOPIC, EngineBench

pytestmark = pytest.mark.crash

PARTITION = PartitionId(TOPIC, 0)


def write(root: Path, count: int = 30) -> EngineBench:
    """A log in several segments, flushed, then left as kill -9 would."""
    bench = EngineBench(root)
    bench.create("prices", TOPIC, segment_bytes=20_000)
    bench.start()
    for number in range(count):
        bench.append(f"{number}:" + "x" * 1500)
        bench.settle()
    return bench


def reopen(root: Path) -> EngineBench:
    bench = EngineBench(root)
    bench.declare("prices", TOPIC, segment_bytes=20_000)
    bench.start()
    return bench


def the_log(bench: EngineBench) -> DiskLog:
    return bench.engine.log(PARTITION)


def numbers(bench: EngineBench) -> list[int]:
    return [int(value.split(":")[0]) for value in bench.values()]


def segments(root: Path) -> list[Path]:
    return sorted(root.rglob("*.log"))


@pytest.mark.feature("P-05")
@pytest.mark.parametrize("lost_bytes", [1, 20, 61, 700, 1500])
def test_a_torn_tail_is_cut_and_kept(tmp_path: Path, lost_bytes: int) -> None:
    write(tmp_path)
    last = segments(tmp_path)[-1]
    content = last.read_bytes()
    *_, (position, _) = iter_headers(content)
    last.write_bytes(content[: len(content) - lost_bytes])
    bench = reopen(tmp_path)
    assert numbers(bench) == list(range(29))
    assert the_log(bench).state is LogState.ONLINE
    (kept,) = tmp_path.rglob("*.cut")
    assert kept.read_bytes() == content[position : len(content) - lost_bytes]
    assert bench.append("29:again").base_offset == 29
    bench.settle()
    assert numbers(bench) == list(range(30))


@pytest.mark.feature("P-05")
@pytest.mark.parametrize("zeros", [1, 61, 512, 100_000])
def test_zeros_at_the_end_are_cut(tmp_path: Path, zeros: int) -> None:
    write(tmp_path)
    last = segments(tmp_path)[-1]
    with last.open("ab") as file:
        file.write(bytes(zeros))
    bench = reopen(tmp_path)
    assert numbers(bench) == list(range(30))
    assert the_log(bench).state is LogState.ONLINE
    assert bench.append("30:more").base_offset == 30


@pytest.mark.feature("P-05")
@pytest.mark.parametrize("garbage_seed", range(5))
def test_noise_at_the_end_is_cut(tmp_path: Path, garbage_seed: int) -> None:
    write(tmp_path)
    with segments(tmp_path)[-1].open("ab") as file:
        file.write(Random(garbage_seed).randbytes(3000))
    bench = reopen(tmp_path)
    assert numbers(bench) == list(range(30))
    assert the_log(bench).state is LogState.ONLINE


def flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def after_kill(root: Path) -> EngineBench:
    write(root)
    return reopen(root)


def after_clean_stop(root: Path) -> EngineBench:
    write(root).engine.close()
    return reopen(root)


def readable(log: DiskLog) -> list[int]:
    """Offsets that can be read one after the other, up to the damage or the end."""
    found: list[int] = []
    offset = 0
    while offset < log.log_end:
        try:
            piece = log.read(offset, 1, end=log.log_end, one_batch_at_least=True, wait=True)
        except KafkaError as error:
            if error.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
            break
        found.append(offset)
        offset = piece.next_offset
    return found


@pytest.mark.feature("P-04")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("clean", [True, False])
def test_a_flipped_bit_is_reported_and_what_is_before_it_can_be_read(tmp_path: Path, seed: int, clean: bool) -> None:
    """Anywhere but in the last batch, which may be a torn tail: damage, found at the start or at the first read."""
    random = Random(seed)
    bench = write(tmp_path)
    if clean:
        bench.engine.close()
    paths = segments(tmp_path)
    path = random.choice(paths)
    headers = list(iter_headers(path.read_bytes()))
    position, header = random.choice(headers[:-1] if path == paths[-1] else headers)
    # The leader epoch is outside the CRC, and so are base offset and length, which the neighbours give away.
    at = random.choice([*range(12), *range(16, header.size_bytes)])
    flip(path, position + at, random.randrange(8))
    again = reopen(tmp_path)
    log = the_log(again)
    found = readable(log)
    assert found == list(range(header.base_offset))
    assert log.state is LogState.DAMAGED
    again.settle()
    assert PARTITION in again.engine.damaged
    with pytest.raises(KafkaError) as refused:
        again.append("more")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.feature("P-05", "P-06")
@pytest.mark.parametrize("stop", [after_kill, after_clean_stop])
def test_derived_files_can_be_deleted(tmp_path: Path, stop: Callable[[Path], EngineBench]) -> None:
    bench = stop(tmp_path)
    for pattern in ("*.index", "*.timeindex"):
        for path in tmp_path.rglob(pattern):
            path.unlink()
    (tmp_path / "catalog.db").unlink(missing_ok=True)
    again = reopen(tmp_path)
    assert numbers(again) == list(range(30))
    assert bench.root == again.root


@pytest.mark.feature("P-05")
def test_a_missing_segment_is_reported(tmp_path: Path) -> None:
    write(tmp_path).engine.close()
    segments(tmp_path)[1].unlink()
    bench = reopen(tmp_path)
    log = the_log(bench)
    assert log.state is LogState.DAMAGED
    assert PARTITION in bench.engine.damaged
    first = log.read(0, 1 << 20, end=log.log_end, one_batch_at_least=True, wait=True)
    assert first.first_offset == 0


EPOCH_BYTES = range(12, 16)  # outside the CRC, and no neighbour says what it was


def read_on(log: DiskLog, offset: int, max_bytes: int) -> dict[int, int]:
    """The numbers that a reader gets from there to the end or to the damage, by offset."""
    found: dict[int, int] = {}
    while offset < log.log_end:
        try:
            piece = log.read(offset, max_bytes, end=log.log_end, one_batch_at_least=True, wait=True)
        except KafkaError as error:
            if error.code is not ErrorCode.CORRUPT_MESSAGE or log.state is not LogState.DAMAGED:
                raise
            break
        assert piece.first_offset >= 0, f"nothing at offset {offset}"
        for record in iter_records(piece.records):
            if record.offset >= offset:
                assert record.value is not None
                found[record.offset] = int(record.value.split(b":")[0])
        assert piece.next_offset > offset
        offset = piece.next_offset
    return found


def check_reads(log: DiskLog, count: int, bad_offset: int) -> None:
    """Every read from every place: the right records without a gap, to the end or to an error."""
    for start in (0, max(0, bad_offset - 1), bad_offset, min(count - 1, bad_offset + 1), count - 1):
        for max_bytes in (1, 4000, 1 << 20):
            if start > min(log.readable_end, log.log_end):
                continue
            found = read_on(log, start, max_bytes)
            assert found == {offset: offset for offset in range(start, start + len(found))}, (start, max_bytes)
            assert log.state is LogState.DAMAGED or start + len(found) == log.log_end


@pytest.mark.feature("P-04")
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("where", ["sealed first", "sealed middle", "sealed last", "active first", "active middle"])
def test_no_byte_of_a_header_can_change_unnoticed(tmp_path: Path, where: str, clean: bool) -> None:
    """All 61 bytes. A read is right, or it is refused and the log damaged; nothing is silently different."""
    made = tmp_path / "made"
    bench = write(made)
    if clean:
        bench.engine.close()
    paths = segments(made)
    name, place = where.split()
    path = paths[0] if name == "sealed" else paths[-1]
    headers = list(iter_headers(path.read_bytes()))
    position, header = headers[{"first": 0, "middle": len(headers) // 2, "last": -1}[place]]
    for byte in range(61):
        root = tmp_path / f"flip-{byte}"
        shutil.copytree(made, root)
        flip(root / path.relative_to(made), position + byte, byte % 8)
        again = reopen(root)
        log = the_log(again)
        check_reads(log, 30, header.base_offset)
        if byte not in EPOCH_BYTES:
            assert log.state is LogState.DAMAGED, byte
            assert readable(log) == list(range(header.base_offset))
        again.engine.metadata.close()
        shutil.rmtree(root)


@pytest.mark.feature("P-04")
def test_a_flip_without_index_files_is_noticed_as_well(tmp_path: Path) -> None:
    """The index is rebuilt from the batches, which must not be believed more than when they are served."""
    made = tmp_path / "made"
    write(made).engine.close()
    for pattern in ("*.index", "*.timeindex"):
        for derived in made.rglob(pattern):
            derived.unlink()
    path = segments(made)[0]
    headers = list(iter_headers(path.read_bytes()))
    position, header = headers[len(headers) // 2]
    for byte in (0, 6, 7, 8, 10, 11, 17, 26, 35, 42):
        root = tmp_path / f"flip-{byte}"
        shutil.copytree(made, root)
        flip(root / path.relative_to(made), position + byte, 1)
        again = reopen(root)
        log = the_log(again)
        with pytest.raises(KafkaError) as refused:
            log.find_timestamp(again.clock.now_ms() - 1, end=log.log_end)
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
        check_reads(log, 30, header.base_offset)
        again.engine.metadata.close()
