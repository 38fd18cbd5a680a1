"""Kills that are known to have hit: at each step of the sink's transaction, of the process that commits or the broker.

One session lives through all of them: a query whose worker was killed is started again over its checkpoint, which is
what a new driver does. Drivers that die with everything are in `test_spark_kills`.

PENSTOCK_TEST_TARGET=kafka   the same with Apache Kafka as the broker
PENSTOCK_TEST_KILLS=100      how many the long run has inside of open transactions; a quick one hits each step once
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.copying import CopyWorld
from tests.spark.proxied_broker import own_broker, proxy, world_of
from tests.support.broker_process import BrokerProcess
from tests.support.step_proxy import END_TXN, INIT_PRODUCER_ID, PRODUCE, Step, StepProxy
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(7200)]
__all__ = ["own_broker", "proxy"]

WITHIN_S = 400
NEXT_AFTER_S = 30
ROWS = 40
MARKERS = b"__penstock_markers"
INSIDE = {
    "first batch stored": Step(PRODUCE, answered=True),
    "before the marker": Step(PRODUCE, about=MARKERS),
    "marker stored": Step(PRODUCE, answered=True, about=MARKERS),
    "before EndTxn": Step(END_TXN),
}
"""A transaction is open at these moments."""
AROUND = {
    "before InitProducerId": Step(INIT_PRODUCER_ID),
    "InitProducerId answered": Step(INIT_PRODUCER_ID, answered=True),
    "before the first batch": Step(PRODUCE),
    "EndTxn answered": Step(END_TXN, answered=True),
}
STEPS = {**INSIDE, **AROUND}


class Copying:
    """A query from topic to topic in the session of the tests, started again whenever it has died."""

    def __init__(self, spark: SparkSession, world: CopyWorld, proxy: StepProxy) -> None:
        self._spark, self._proxy, self.world = spark, proxy, world
        self._query: StreamingQuery | None = None
        self.hits: Counter[str] = Counter()
        self.starts = 0

    def go_on(self) -> None:
        """Start the query if it does not run."""
        if self._query is not None and self._query.isActive:
            return
        broker: dict[str, str | int] = {"kafka.bootstrap.servers": self.world.address, **self.world.timeouts}
        frame = self._spark.readStream.format("penstock").options(**broker)
        frame = frame.options(subscribe=self.world.source, startingOffsets="earliest")
        writer = frame.load().select("key", "value").writeStream.format("penstock").options(**broker)
        writer = writer.option("checkpointLocation", str(self.world.directory / "checkpoint"))
        self._query = writer.option("topic", self.world.target).start()
        self.starts += 1

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()

    def kill_at(self, name: str, victim: str) -> None:
        """Feed it, kill the victim when a request passes that is this step, and wait until everything is copied."""
        kill, hit = self._kill_sender if victim == "worker" else self._kill_broker, threading.Event()

        def last(port: int) -> None:
            kill(port)
            hit.set()

        def first(port: int) -> None:
            self._kill_sender(port)
            self._proxy.at(STEPS[name], last)

        is_begin = STEPS[name].api_key == INIT_PRODUCER_ID  # only a new writer sends it: one must die for that
        self._proxy.at(*((Step(PRODUCE, answered=True), first) if is_begin else (STEPS[name], last)))
        self.world.feed(ROWS)
        self._wait_for(hit.is_set, name)
        if not self.world.broker.running:
            self.world.broker.start()
        self._wait_for_copies(name)
        self.hits[f"{name}, {victim}"] += 1

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        def so() -> bool:
            self.go_on()
            return condition()

        wait_until(so, what=what, within_s=WITHIN_S)

    def _wait_for_copies(self, name: str) -> None:
        """Apache Kafka that dies after its answer to EndTxn may forget markers. The next batch brings them."""
        next_at = time.monotonic() + NEXT_AFTER_S

        def are_copied() -> bool:
            nonlocal next_at
            if self._is_copied():
                return True
            if self.world.broker.kind == "kafka" and time.monotonic() > next_at:
                next_at += NEXT_AFTER_S
                self.world.feed(1)
            return False

        self._wait_for(are_copied, f"all values after {name}")

    def _is_copied(self) -> bool:
        return len(self.world.copied()) >= self.world.expected

    def _kill_broker(self, _: int) -> None:
        self.world.broker.kill9()

    def _kill_sender(self, port: int) -> None:
        """Kill the process that has this connection: the one that commits."""
        for each in psutil.Process().children(recursive=True):
            try:
                if any(one.laddr[1:] == (port,) for one in each.net_connections("tcp")):
                    each.send_signal(signal.SIGKILL)
                    return
            except psutil.Error:
                continue
        raise AssertionError(f"nobody has the port {port}")


@pytest.fixture
def copying(spark: SparkSession, own_broker: BrokerProcess, proxy: StepProxy, tmp_path: Path) -> Iterator[Copying]:
    made = Copying(spark, world_of(own_broker, tmp_path), proxy)
    yield made
    proxy.disarm()
    made.stop()


@pytest.mark.feature("S-02", "X-02")
def test_each_step_is_hit(copying: Copying) -> None:
    for victim, name in itertools.product(("worker", "broker"), INSIDE):
        copying.kill_at(name, victim)
    for name in AROUND:
        copying.kill_at(name, "worker")
    copying.world.check()


@pytest.mark.slow
@pytest.mark.feature("S-02", "X-02")
def test_many_kills_inside_of_transactions(copying: Copying) -> None:
    wanted = int(os.environ.get("PENSTOCK_TEST_KILLS", "20"))
    victims = itertools.cycle(["worker", "worker", "broker"])
    started, inside = time.monotonic(), 0
    for number, name in enumerate(itertools.cycle(STEPS)):
        if inside >= wanted:
            break
        copying.kill_at(name, next(victims))
        inside += name in INSIDE
        print(f"\r{inside} inside of open transactions, {sum(copying.hits.values())} in all", end="", flush=True)
        if number % 10 == 9:
            copying.world.check()
    copying.world.check()
    took_s = time.monotonic() - started
    for name, count in sorted(copying.hits.items()):
        print(f"\n{count:4} {name}", end="")
    kills = sum(copying.hits.values())
    print(f"\n{inside} of {kills} kills inside of open transactions, {took_s / kills:.1f} s each, "
          f"{copying.world.expected} values, all of them once")  # fmt: skip
