"""The delivery guarantees when consumers are killed with kill -9 at random, and the broker as well.

    at-most-once     loses, never doubles
    at-least-once    doubles, never loses
    exactly-once     neither

Two programs of a group copy a topic (`tests.sdk.copier`). Again and again one of them is killed in the middle of its
work and replaced by another of the same name; now and then the broker is killed and started again.

    PENSTOCK_TEST_TARGET=kafka    the control; its broker is not killed: see the chaos tests for why
    PENSTOCK_TEST_SEED=7          the same kills as in another run with that seed
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Admin, Producer
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import make_broker, running
from tests.support.raw_client import unique_name
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("K-07", "K-19"), pytest.mark.crash]

PROMISES = ["at-most-once", "at-least-once", "exactly-once"]
PARTITIONS = 4
COPIERS = 2
FEW_KILLS = 2
SECONDS = 60.0


class Copier:
    """The program, and how much it has copied in its present life."""

    def __init__(self, promise: str, given: dict[str, str]) -> None:
        self._command = [sys.executable, "-m", "tests.sdk.copier", promise, json.dumps(given)]
        self._process: subprocess.Popen[str] | None = None
        self.copied = 0

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.copied = 0
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for _ in process.stdout:
            if process is self._process:
                self.copied += 1
        process.stdout.close()

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, "it ended by itself"
        self._process.kill()
        self._process.wait()


class Experiment:
    def __init__(self, broker: BrokerProcess, promise: str, count: int, chance: random.Random) -> None:
        self._broker = broker
        self._chance = chance
        self._count = count
        self._source, self.target, self.group = (unique_name(kind) for kind in ("source", "target", "group"))
        given = {"bootstrap": broker.bootstrap, "group": self.group, "source": self._source, "target": self.target}
        self.copiers = [Copier(promise, {**given, "name": unique_name("copier")}) for _ in range(COPIERS)]
        with Admin(broker.bootstrap) as admin:
            admin.create_topic(self._source, partitions=PARTITIONS)
            admin.create_topic(self.target, partitions=1)

    def feed(self) -> None:
        with Producer(self._broker.bootstrap, partitioner="round-robin") as producer:
            for number in range(self._count):
                producer.send(self._source, b"%d" % number)

    def run(self, kills: int, broker_kills: int) -> Counter[int]:
        """How often each number was copied."""
        self.feed()
        for copier in self.copiers:
            copier.start()
        try:
            breaks = self._chance.sample(range(kills), broker_kills)
            for number in range(kills):
                self._kill_one(also_the_broker=number in breaks)
            wait_until(self._is_finished, what="everything is committed", within_s=SECONDS)
        finally:
            for copier in self.copiers:
                copier.kill()
        return Counter(int(each.value or b"") for each in topic_contents(self._broker.bootstrap, self.target))

    def _kill_one(self, *, also_the_broker: bool) -> None:
        """Kill the first process that gets so far, in the middle of its records."""
        far = self._chance.randrange(3, 25)
        found, *_ = wait_until(
            lambda: [each for each in self.copiers if each.copied >= far],
            what=f"somebody has copied {far}",
            within_s=SECONDS,
        )
        found.kill()
        if also_the_broker:
            self._broker.kill9()
            self._broker.start()
        found.start()

    def _is_finished(self) -> bool:
        with Admin(self._broker.bootstrap) as admin:
            lags = admin.group_lag(self.group)
        return len(lags) == PARTITIONS and not any(lags.values())


@pytest.fixture(scope="module")
def copied_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    if "PENSTOCK_TEST_BOOTSTRAP" in os.environ:
        pytest.skip("needs a broker that it may kill")
    directory: Path = tmp_path_factory.mktemp("promises")
    yield from running(make_broker(directory, session_timeout_min_ms=1_000))


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("PENSTOCK_TEST_SEED") or random.SystemRandom().randrange(10_000))
    print(f"PENSTOCK_TEST_SEED={seed}")
    return random.Random(seed)


def judge(promise: str, copied: Counter[int], count: int, *, shows_price: bool) -> None:
    """`shows_price`: so many kills that what a promise leaves open must have happened, too."""
    lost = [number for number in range(count) if number not in copied]
    doubled = [number for number, times in copied.items() if times > 1]
    print(f"{promise}: {count} records, {len(lost)} lost, {len(doubled)} more than once")
    assert set(copied) <= set(range(count))
    if promise == "at-most-once":
        assert not doubled
        assert lost or not shows_price, "nothing was lost, so nothing is shown"
    elif promise == "at-least-once":
        assert not lost
        assert doubled or not shows_price, "nothing was doubled, so nothing is shown"
    else:
        assert not lost
        assert not doubled


def uncommitted_count(broker: BrokerProcess, topic: str) -> int:
    """Records that were written, committed or not, with the control records."""
    with Admin(broker.bootstrap) as admin:
        return sum(each.end for each in admin.describe_topic(topic).partitions)


def experiment(
    broker: BrokerProcess, promise: str, chance: random.Random, *, count: int, kills: int, broker_kills: int
) -> None:
    if broker.kind == "kafka" or not broker.is_durable:
        broker_kills = 0
    run = Experiment(broker, promise, count, chance)
    copied = run.run(kills, broker_kills)
    shows_price = kills > FEW_KILLS
    judge(promise, copied, count, shows_price=shows_price)
    if promise == "exactly-once" and shows_price:
        assert uncommitted_count(broker, run.target) > count, "nothing was aborted, so nothing is shown"


@pytest.mark.parametrize("promise", PROMISES)
def test_a_few_kills(copied_broker: BrokerProcess, promise: str, chance: random.Random) -> None:
    experiment(copied_broker, promise, chance, count=100, kills=FEW_KILLS, broker_kills=1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("promise", PROMISES)
def test_many_kills(copied_broker: BrokerProcess, promise: str, chance: random.Random) -> None:
    experiment(copied_broker, promise, chance, count=1_500, kills=30, broker_kills=5)
