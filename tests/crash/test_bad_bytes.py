"""Torn tails, zeros at the end, flipped bits, missing files: cut, or reported, never silently different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from penstock.model.batch import iter_headers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.interface import LogState
from penstock.storage.log import DiskLog
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
    # The base offset and the leader epoch are outside the CRC; a wrong offset is noticed by its neighbours only.
    flip(path, position + random.randrange(16, header.size_bytes), random.randrange(8))
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
