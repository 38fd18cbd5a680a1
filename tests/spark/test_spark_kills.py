"""Exactly once when everything dies: drivers at each step of a commit, executors, brokers, and two drivers at a time.

PENSTOCK_TEST_TARGET=kafka   the same with Apache Kafka as the broker
PENSTOCK_TEST_KILLS=100      how many the random run has; 6 unless told
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.spark.copying import DRIVER_DEADLINE_S, CopyWorld, Driver
from tests.spark.proxied_broker import own_broker, proxy, world_of
from tests.support.broker_process import BrokerProcess
from tests.support.step_proxy import END_TXN, INIT_PRODUCER_ID, PRODUCE, Step, StepProxy
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]
__all__ = ["own_broker", "proxy"]

STEPS = {
    "before InitProducerId": Step(INIT_PRODUCER_ID),
    "in the middle of writing": Step(PRODUCE, 2),
    "after the marker, before EndTxn": Step(END_TXN),
    "after EndTxn, before commit returns": Step(END_TXN, answered=True),
}


@pytest.fixture
def world(own_broker: BrokerProcess, proxy: StepProxy, tmp_path: Path) -> CopyWorld:
    return world_of(own_broker, tmp_path)


def killed_at(world: CopyWorld, proxy: StepProxy, step: Step) -> None:
    """A driver with something to do, killed the moment that a request of its commit passes."""
    world.feed(200)
    drivers: list[Driver] = []
    proxy.at(step, lambda _: drivers[0].kill())
    drivers.append(world.driver())
    try:
        wait_until(proxy.happened.is_set, what=f"{step}", within_s=DRIVER_DEADLINE_S)
    finally:
        proxy.disarm()
        drivers[0].kill()


@pytest.mark.feature("S-02", "X-02")
@pytest.mark.parametrize(
    ("options", "files"),
    [({}, "true"), ({"inlineBytes": 100}, "true"), ({"inlineBytes": 100}, "false")],
    ids=["inline", "in files", "staged"],
)
def test_drivers_that_die_at_each_step(
    own_broker: BrokerProcess, proxy: StepProxy, tmp_path: Path, options: dict[str, Any], files: str
) -> None:
    world = world_of(own_broker, tmp_path, options=options)
    world.conf["spark.penstock.localFiles"] = files
    for step in STEPS.values():
        killed_at(world, proxy, step)
    world.finish()
    world.check()


def test_a_commit_that_fails_after_it_took_effect(world: CopyWorld, proxy: StepProxy) -> None:
    """The broker commits, but its answer never comes and it cannot be asked: Spark gets an error."""
    world.timeouts = {"kafka.default.api.timeout.ms": 3000}
    world.feed(200)
    proxy.at(Step(END_TXN, answered=True), lambda _: proxy.cut(refuse=True))
    driver = world.driver()
    try:
        wait_until(proxy.happened.is_set, what="the end of a transaction", within_s=DRIVER_DEADLINE_S)
        assert driver.wait() != 0
    finally:
        proxy.disarm()
        proxy.allow()
        driver.kill()
    world.finish()
    world.check()


def test_two_drivers_on_one_checkpoint(world: CopyWorld) -> None:
    """Spark itself lets only one of them go on; whatever they do until then, nothing is there twice."""
    world.feed(2000)
    drivers = [world.driver(), world.driver()]
    for each in drivers:
        each.wait()
    world.finish()
    world.check()


def test_a_broker_that_dies_is_waited_for(world: CopyWorld) -> None:
    world.feed(4000)
    driver = world.driver()
    wait_until(lambda: bool(world.copied()), what="the first batch", within_s=DRIVER_DEADLINE_S)
    world.broker.kill9()
    world.broker.start()
    assert driver.wait() == 0, driver.log()
    world.check()


def test_workers_that_die_are_replaced(world: CopyWorld) -> None:
    """Spark runs the task again: local[2,4] gives each four attempts."""
    world.conf["spark.penstock.fewRows"] = "false"  # else there are no workers
    world.feed(4000)
    driver = world.driver()
    wait_until(lambda: bool(world.copied()), what="the first batch", within_s=DRIVER_DEADLINE_S)
    killed = 0
    while driver.running and killed < 3:
        killed += kill_a_worker(driver, random.Random(killed))
        time.sleep(0.3)
    if driver.wait() != 0:
        world.finish()  # a commit's own worker has no second attempt
    world.check()


def kill_a_worker(driver: Driver, random_: random.Random) -> int:
    """One of the Python processes that compute for a driver: a worker of Spark's, or the companion."""
    try:
        family = psutil.Process(driver.pid).children(recursive=True)
        workers = [each for each in family if _computes(each) and not each.children()]
        if not workers:
            return 0
        random_.choice(workers).send_signal(signal.SIGKILL)
    except psutil.Error:
        return 0
    return 1


def _computes(process: psutil.Process) -> bool:
    command = " ".join(process.cmdline())
    return "pyspark.daemon" in command or "penstock_spark.companion" in command


@pytest.mark.slow
@pytest.mark.feature("S-02", "X-02")
def test_killed_at_random(own_broker: BrokerProcess, proxy: StepProxy, tmp_path: Path) -> None:
    """Driver, worker or broker, at any moment or at a named step; afterwards everything is there once."""
    kills, seed = int(os.environ.get("PENSTOCK_TEST_KILLS", "6")), int(os.environ.get("PENSTOCK_TEST_SEED", "1"))
    random_ = random.Random(seed)
    world = world_of(own_broker, tmp_path, batch=300)
    done = {"driver": 0, "step": 0, "worker": 0, "broker": 0}
    while sum(done.values()) < kills:
        if random_.random() < 0.4:
            killed_at(world, proxy, random_.choice(list(STEPS.values())))
            done["step"] += 1
        else:
            for kind, count in _disturb(world, random_).items():
                done[kind] += count
        if random_.random() < 0.2:
            world.finish()
            world.check()
        print(f"\r{done}", end="", flush=True)
    world.finish()
    world.check()
    print(f"\nseed {seed}: {done}, {world.expected} values, all of them once")


def _disturb(world: CopyWorld, random_: random.Random) -> dict[str, int]:
    """A driver that loses workers and its broker, and in the end its life."""
    done = {"worker": 0, "broker": 0, "driver": 0}
    world.feed(3000)
    driver = world.driver()
    if random_.random() < 0.8:  # else it may be killed before it has begun
        wait_until(lambda: not driver.running or driver.has_started, what="a query", within_s=DRIVER_DEADLINE_S)
    deadline = time.monotonic() + random_.uniform(4, 15)
    while driver.running and time.monotonic() < deadline:
        time.sleep(random_.uniform(0.2, 1.5))
        chance = random_.random()
        if chance < 0.4:
            done["worker"] += kill_a_worker(driver, random_)
        elif chance < 0.5:
            world.broker.kill9()
            world.broker.start()
            done["broker"] += 1
    done["driver"] += driver.running
    driver.kill()
    return done
