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
SHORT_MINIMUM = Minimum(committed=20, aborted=5, kills=6)
"""Little, since a busy machine may spend most of the time on starting brokers."""
SEED = 7


def planned(seed: int, count: int = 60, without: tuple[Fault, ...] = ()) -> list[Planned]:
    return list(itertools.islice(faults(Random(seed), without), count))


@pytest.mark.crash
def test_nothing_is_lost_torn_or_seen_too_early(tmp_path: Path) -> None:
    without = () if shutil.which("strace") else (Fault.FAIL_FLUSH,)
    chaos = Chaos(
        tmp_path,
        target="penstock",
        seed=SEED,
        seconds=SHORT_SECONDS,
        roles=SHORT_CREW,
        without=without,
        minimum=SHORT_MINIMUM,
    )
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


def test_every_fault_comes_again_and_again_and_windows_come_first() -> None:
    for seed in range(20):
        found = [each.fault for each in planned(seed)]
        assert set(found[:3]) == set(WINDOWS)
        assert set(found[3 : 3 + len(DECK)]) == set(Fault)
        assert sum(fault is Fault.KILL_BROKER for fault in found) >= 12


def test_what_is_left_out_does_not_come() -> None:
    assert not {each.fault for each in planned(1, without=TOO_MUCH_FOR_KAFKA)} & set(TOO_MUCH_FOR_KAFKA)


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
