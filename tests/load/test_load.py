"""Crowds, ten thousand partitions, slow readers, readers that never read, bursts: no error, bounded memory, and the
others' p99 at most twice what it is without them.

The broker, the client that is disturbed and the generators that disturb it are processes of their own. Figures are
printed, and written to `bench/results`; a machine that has other things to do cannot give them, and then this fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import store
from tests.load.case import Case, Figures
from tests.load.steady import Steady
from tests.scale.scaled_broker import ScaledBroker, produce_frame
from tests.support.batches import values
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HELD_BYTES_MAX = 64 << 20
CONFIG = f"""\
limits:
  queued_bytes_total_max: {HELD_BYTES_MAX}
"""
STEADY, OTHER = "steady", "other"
ANSWER_BYTES = 1 << 20
MEMORY_SLACK_MB = 32.0
HELD_MB_MAX = HELD_BYTES_MAX / (1 << 20) + MEMORY_SLACK_MB
CONNECTION_KB_MAX = 16.0


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    """By the name of the case; written when all have run, whatever came of them."""
    found: Figures = {}
    yield found
    if found:
        print(f"\nwritten to {store.save('load', {'load': found})}")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ScaledBroker]:
    process = ScaledBroker(tmp_path, CONFIG)
    process.prepare()
    process.start_timed()
    process.create([STEADY, OTHER], 1)
    try:
        yield process
        assert " ERROR " not in process.log_file.read_text()
    finally:
        process.kill9()


@pytest.fixture
def case(broker: ScaledBroker, figures: Figures) -> Iterator[Case]:
    with Steady(broker.host, broker.port, STEADY) as client:
        yield Case(broker, client, figures)


@pytest.mark.feature("F-07", "P-26")
def test_a_crowd(case: Case) -> None:
    """10,000 connections, 300 a second of them new, 100 at work."""
    grows_mb_max = 10_000 * CONNECTION_KB_MAX / 1024 + MEMORY_SLACK_MB
    options = {"topic": OTHER, "held": 10_000, "churn_per_s": 300, "busy": 100}
    case.disturb("10,000 connections with churn", "crowd", options, grows_mb_max=grows_mb_max, windows=3)
    wait_until(lambda: case.broker.samples("penstock_connections")[""] == 2, what="all but the steady client have gone")
    case.check()


def test_ten_thousand_partitions(case: Case) -> None:
    """100 consumers with a fetch session each over 100 partitions, all of which are written to in turn."""
    topics = [f"wide-{number}" for number in range(10)]
    case.broker.create(topics, 1000)
    case.broker.write_all(topics, 1000)
    options = {"topics": topics, "partitions": 1000, "consumers": 100, "writes_per_s": 200}
    case.disturb("10,000 partitions, 100 consumers", "consumers", options, grows_mb_max=HELD_MB_MAX)
    case.check()


@pytest.mark.parametrize("kind", ["slow readers", "never readers"])
def test_readers_that_hardly_read(case: Case, kind: str) -> None:
    """Fifty of them want a megabyte at a time; what waits for them is bounded, and others do not wait."""
    large = produce_frame(OTHER, 0, values(*["x" * 10_000] * 10))
    case.broker.write_frames([large] * 50, 1)
    options = {"topic": OTHER, "readers": 50, "answer_bytes": ANSWER_BYTES}
    case.disturb(f"50 {kind}", kind, options, grows_mb_max=HELD_MB_MAX)
    case.check()


def test_a_burst(case: Case) -> None:
    """Others send 200 requests a second, then 2,000."""
    options = {"topic": OTHER, "producers": 10, "requests_per_s": 200, "factor": 10}
    case.disturb("ten times the load", "burst", options, grows_mb_max=MEMORY_SLACK_MB)
    case.check()
