"""The short form of `make chaos`, and that a plan is what it says."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.chaos.brokers import is_stopped
from tests.chaos.plan import (
    DECK,
    KEYS,
    LONG_CREW,
    PARTITIONS,
    SHORT_CREW,
    TOO_MUCH_FOR_KAFKA,
    TRANSACTIONAL,
    WINDOWS,
    Fault,
    Minimum,
    Planned,
    faults,
    partition_of,
)
from tests.chaos.run import Chaos
from tests.support.waiting import wait_until

SHORT_SECONDS = 20.0
SEED = 7


def planned(seed: int, seconds: float = 600.0, without: tuple[Fault, ...] = ()) -> list[Planned]:
    return list(faults(Random(seed), seconds, gap=(3.0, 8.0), without=without))


@pytest.mark.crash
def test_nothing_is_lost_torn_or_seen_too_early(tmp_path: Path) -> None:
    without = () if shutil.which("strace") else (Fault.FAIL_FLUSH,)
    chaos = Chaos(tmp_path, target="penstock", seed=SEED, seconds=SHORT_SECONDS, roles=SHORT_CREW, without=without)
    try:
        if not chaos.start_broker():
            pytest.skip("the broker has no transactions")
        result = chaos.run()
    finally:
        chaos.broker.kill9()
    assert result.passed, result.text()


def test_a_seed_decides_the_faults() -> None:
    assert planned(1) == planned(1)
    assert planned(1) != planned(2)


def test_ten_minutes_have_every_fault_and_enough_kills() -> None:
    for seed in range(20):
        found = [each.fault for each in planned(seed)]
        assert set(found) == set(Fault) == set(DECK)
        assert sum(fault is Fault.KILL_BROKER for fault in found) >= Minimum.of(600.0).kills
        assert set(found[:3]) == set(WINDOWS)


def test_a_short_run_has_every_window() -> None:
    assert all(set(WINDOWS) <= {each.fault for each in planned(seed, 20.0)} for seed in range(20))


def test_what_is_left_out_does_not_come() -> None:
    assert not {each.fault for each in planned(1, without=TOO_MUCH_FOR_KAFKA)} & set(TOO_MUCH_FOR_KAFKA)


def test_faults_come_one_after_the_other_within_the_time() -> None:
    times = [each.at for each in planned(1)]
    assert all(later - earlier >= 3.0 for earlier, later in itertools.pairwise(times))
    assert times[-1] < 600.0


def test_ten_minutes_want_what_was_promised() -> None:
    assert Minimum.of(600.0) == Minimum(committed=1000, aborted=200, kills=20)
    assert Minimum.of(60.0) == Minimum(committed=100, aborted=20, kills=2)


def test_keys_reach_every_partition_and_crews_have_every_generation() -> None:
    assert {partition_of(key) for key in KEYS} == set(PARTITIONS)
    assert set(TRANSACTIONAL) <= set(LONG_CREW)
    assert len(set(TRANSACTIONAL) & set(SHORT_CREW)) > 2


def test_a_stopped_process_is_seen_to_be_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert not is_stopped(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(process.pid), what="it is stopped")
        os.kill(process.pid, signal.SIGCONT)
        wait_until(lambda: not is_stopped(process.pid), what="it goes on")
    finally:
        process.kill()
        process.communicate()
