"""Logs that no client has used since the start are opened, too: retention and compaction reach them."""

from __future__ import annotations

from pathlib import Path

from penstock.testing.clock import ManualClock
from tests.support.engine_bench import TOPIC, EngineBench

DAY_MS = 24 * 3600 * 1000
COUNT = 5


def left_behind(root: Path, clock: ManualClock, **config: object) -> EngineBench:
    """An engine just started over logs that another one wrote."""
    before = EngineBench(root, clock=clock)
    before.create("t", TOPIC, partitions=COUNT + 1, **config)
    before.start()
    for index in range(COUNT):
        before.append("x", index)
    before.settle()
    before.engine.close()
    bench = EngineBench(root, clock=clock, retention_check_interval_ms=1000)
    bench.declare("t", TOPIC, partitions=COUNT + 1, **config)
    return bench.start()


def test_all_logs_with_records_are_open_after_a_while(tmp_path: Path) -> None:
    bench = left_behind(tmp_path, ManualClock())
    assert not list(bench.engine.open_logs())
    for _ in range(COUNT):
        bench.engine.tick()
    assert {log.partition.partition for log in bench.engine.open_logs()} == set(range(COUNT))
    bench.engine.close()


def test_retention_reaches_them(tmp_path: Path) -> None:
    clock = ManualClock()
    bench = left_behind(tmp_path, clock, retention_ms=DAY_MS)
    clock.advance(2 * DAY_MS)
    for _ in range(3 * COUNT):
        bench.engine.tick()
        bench.settle()
        clock.advance(1000)
    assert [log.log_start for log in bench.engine.open_logs()] == [1] * COUNT
    bench.engine.close()
