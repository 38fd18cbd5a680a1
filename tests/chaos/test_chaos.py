"""The short form of `make chaos`, and that a plan is what it says."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from penstock.testing.consistency.checker import Verdict
from tests.chaos.brokers import is_stopped
from tests.chaos.clients.java import java_is_there
from tests.chaos.plan import (
    DECK,
    KEYS,
    LONG_CREW,
    PARTITIONS,
    SHORT_CREW,
    SHORT_REST_SECONDS,
    TOO_MUCH_FOR_KAFKA,
    TRANSACTIONAL,
    Fault,
    Minimum,
    Planned,
    Role,
    faults,
    partition_of,
)
from tests.chaos.run import Chaos, Result
from tests.support.strace import CannotAttach, Strace
from tests.support.waiting import wait_until

SHORT_SECONDS = 20.0
SHORT_MINIMUM = Minimum(committed=20, aborted=5, kills=5)
"""Little, since a busy machine may spend most of the time on starting brokers."""
SHORT_LEAVE_SECONDS = 10.0
"""librdkafka may wait forever for answers that it lost with the connection to a broker that died."""
SEED = 7


def planned(seed: int, count: int = 60, without: tuple[Fault, ...] = ()) -> list[Planned]:
    return list(itertools.islice(faults(Random(seed), without), count))


def can_trace() -> bool:
    """Whether strace is there and may attach to a process that is not its child."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with Strace(process.pid, Path(os.devnull)):
            return True
    except (OSError, CannotAttach):
        return False
    finally:
        process.kill()
        process.communicate()


@pytest.mark.full
@pytest.mark.crash
@pytest.mark.feature("K-07", "P-24", "X-02")
def test_nothing_is_lost_torn_or_seen_too_early(tmp_path: Path) -> None:
    """With every kind of fault: a run without one of them fails, too. Flushes are left out where strace may not be."""
    without = () if can_trace() else (Fault.FAIL_FLUSH,)
    roles = SHORT_CREW if java_is_there() else tuple(role for role in SHORT_CREW if role is not Role.JAVA)
    chaos = Chaos(
        tmp_path,
        target="penstock",
        seed=SEED,
        seconds=SHORT_SECONDS,
        roles=roles,
        without=without,
        minimum=SHORT_MINIMUM,
        rest=SHORT_REST_SECONDS,
        leave_seconds=SHORT_LEAVE_SECONDS,
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


def test_every_fault_comes_at_once_and_again_and_again() -> None:
    for seed in range(20):
        found = planned(seed)
        opening, second = found[: len(Fault)], found[len(Fault) : len(Fault) + len(DECK)]
        assert {each.fault for each in opening} == {each.fault for each in second} == set(Fault)
        assert all(crew[each.client] in TRANSACTIONAL for each in opening for crew in (LONG_CREW, SHORT_CREW))
        assert sum(each.fault is Fault.KILL_BROKER for each in found) >= 12


def test_what_is_left_out_does_not_come() -> None:
    assert not {each.fault for each in planned(1, without=TOO_MUCH_FOR_KAFKA)} & set(TOO_MUCH_FOR_KAFKA)


def test_ten_minutes_want_what_was_promised() -> None:
    assert Minimum.of(600.0) == Minimum(committed=1000, aborted=200, kills=20, each=3)
    assert Minimum.of(60.0) == Minimum(committed=100, aborted=20, kills=2, each=1)


@pytest.mark.parametrize("missing", [*map(str, Fault), "kills of the broker", "transactions aborted"])
def test_a_run_without_one_kind_of_event_fails(missing: str) -> None:
    minimum = Minimum(committed=3, aborted=2, kills=2, each=2)
    enough = dict.fromkeys([*map(str, Fault), "kills of the broker", "transactions committed"], 3)
    enough["transactions aborted"] = 2
    assert minimum.shortages(enough) == []
    shortages = minimum.shortages({**enough, missing: 1})
    assert shortages == [f"{missing}: 1 of 2"]
    assert not Result(Verdict(), {}, shortages).passed
    assert minimum.shortages({}, without=tuple(Fault)) == [
        "transactions committed: 0 of 3",
        "transactions aborted: 0 of 2",
    ]


def test_keys_reach_every_partition_and_crews_have_every_generation() -> None:
    assert {partition_of(key) for key in KEYS} == set(PARTITIONS)
    assert set(TRANSACTIONAL) <= set(LONG_CREW)
    assert set(TRANSACTIONAL) <= set(SHORT_CREW)


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
