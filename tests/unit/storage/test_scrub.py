"""The scrub reads sealed segments at its pace and marks a log damaged when a byte has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.interface import LogState
from tests.support.engine_bench import TOPIC, EngineBench


def filled(root: Path, rate: int) -> EngineBench:
    bench = EngineBench(root, scrub_bytes_per_second=rate)
    bench.create("prices", TOPIC, segment_bytes=10_000)
    bench.start()
    for n in range(30):
        bench.append("x" * 3000 + str(n))
    bench.settle()
    return bench


def scrubbed(bench: EngineBench, seconds: int) -> int:
    for _ in range(seconds):
        bench.clock.advance(1000)
        bench.engine.tick()
        bench.settle()
    return bench.engine.scrub.scrubbed_bytes


@pytest.mark.feature("P-04")
def test_a_flipped_bit_in_a_sealed_segment_is_found(tmp_path: Path) -> None:
    bench = filled(tmp_path, 1_000_000)
    log = bench.engine.log(PartitionId(TOPIC, 0))
    segment = log.segments[4]
    content = bytearray(segment.path.read_bytes())
    content[5000] ^= 0x10
    segment.path.write_bytes(content)
    scrubbed(bench, 30)
    assert log.state is LogState.DAMAGED
    assert PartitionId(TOPIC, 0) in bench.engine.damaged
    good = bench.engine.log(PartitionId(TOPIC, 0)).readable_end
    assert segment.base_offset <= good < segment.end_offset
    assert len(log.read(0, 1 << 20, end=log.flushed, one_batch_at_least=True, wait=True).records) > 0
    with pytest.raises(KafkaError) as caught:
        bench.append("more")
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_it_keeps_to_its_pace_and_starts_again(tmp_path: Path) -> None:
    bench = filled(tmp_path, 10_000)
    sealed = sum(segment.size for segment in bench.engine.log(PartitionId(TOPIC, 0)).segments[:-1])
    assert scrubbed(bench, 5) <= 60_000
    assert scrubbed(bench, 30) > sealed


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    assert scrubbed(filled(tmp_path, 0), 10) == 0
