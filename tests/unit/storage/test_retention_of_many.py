"""Retention over more logs than one tick looks at, with an interval shorter than a walk over all of them."""

from pathlib import Path

import pytest

from penstock.model.ids import PartitionId
from penstock.storage.pace import LOGS_SEEN_PER_TICK
from tests.support.engine_bench import TOPIC, EngineBench, MemoryBench

COUNT = 2 * LOGS_SEEN_PER_TICK + 50


@pytest.mark.feature("K-13")
@pytest.mark.parametrize("engine", ["disk", "memory"])
def test_the_last_log_gets_its_turn(tmp_path: Path, engine: str) -> None:
    bench: EngineBench | MemoryBench
    if engine == "disk":
        bench = EngineBench(tmp_path, retention_check_interval_ms=1)
        bench.create("prices", TOPIC, COUNT)
        bench.declare("prices", TOPIC, COUNT, retention_ms=1000)
    else:
        bench = MemoryBench(retention_check_interval_ms=1)
        bench.create("prices", TOPIC, COUNT, retention_ms=1000)
    bench.start()
    for index in range(COUNT):
        bench.append("old", index)
    bench.settle()
    bench.clock.advance(60_000)
    for _ in range(12):
        bench.clock.advance(250)
        bench.engine.tick()
        bench.settle()
    starts = {index: bench.engine.log(PartitionId(TOPIC, index)).log_start for index in range(COUNT)}
    assert {index for index, start in starts.items() if start != 1} == set()
    bench.engine.close()
