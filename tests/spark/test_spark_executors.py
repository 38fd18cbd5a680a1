"""Executors of a real cluster that are killed in the middle of a stream: others take over, nothing is there twice."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.spark.copying import DRIVER_DEADLINE_S, CopyWorld, Driver
from tests.support.broker_process import BrokerProcess
from tests.support.spark_cluster import spark_cluster
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SMALL = {"spark.executor.memory": "512m", "spark.cores.max": "2"}
KILLS = 3


def executors(below: Path) -> list[psutil.Process]:
    """The JVMs that work for an application; each runs in a directory of its worker."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(below) and "CoarseGrainedExecutorBackend" in " ".join(
                process.cmdline()
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.feature("S-02", "X-02")
def test_executors_that_die_are_replaced(broker: BrokerProcess, tmp_path: Path) -> None:
    with spark_cluster(tmp_path / "cluster") as master:
        world = CopyWorld(broker, tmp_path, broker.bootstrap, master=master, conf=SMALL, batch=100)
        world.feed(1800)
        driver = world.driver()
        try:
            for number in range(KILLS):
                _kill_one(world, driver, tmp_path, number)
            assert driver.wait() == 0, driver.log()
        finally:
            driver.kill()
        world.check()


def _kill_one(world: CopyWorld, driver: Driver, below: Path, number: int) -> None:
    """Some batches after the last one was killed."""
    wait_until(lambda: len(world.copied()) > number * 500, what="some batches", within_s=DRIVER_DEADLINE_S)
    assert driver.running, driver.log()
    found = wait_until(lambda: executors(below), what="an executor", within_s=DRIVER_DEADLINE_S)
    found[number % len(found)].kill()
