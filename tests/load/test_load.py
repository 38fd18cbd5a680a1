"""Crowds, ten thousand partitions, slow readers, readers that never read, bursts: no error, bounded memory, and the
others' p99 at most twice what it is without them.

The broker, the client that is disturbed and the generators that disturb it are processes of their own. Figures are
printed; they mean something on a machine that has nothing else to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.load.comparison import check_counts, compare, memory_watched
from tests.load.generator import Generator
from tests.load.steady import Steady
from tests.scale.scaled_broker import ScaledBroker, produce_frame
from tests.support.batches import values
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HELD_BYTES_MAX = 64 << 20
CONFIG = f"""\
limits:
  queued_bytes_total_max: {HELD_BYTES_MAX}
"""
STEADY, OTHER = "steady", "other"
WINDOWS, SECONDS = 5, 4.0
ANSWER_BYTES = 1 << 20
MEMORY_SLACK_MB = 32.0
CONNECTION_KB_MAX = 16.0

StartGenerator = Callable[..., Generator]


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
def steady(broker: ScaledBroker) -> Iterator[Steady]:
    with Steady(broker.host, broker.port, STEADY) as client:
        yield client


@pytest.mark.feature("P-26")
def test_a_crowd(broker: ScaledBroker, steady: Steady) -> None:
    """10,000 connections, 300 a second of them new, 100 at work."""
    options = {"topic": OTHER, "held": 10_000, "churn_per_s": 300, "busy": 100}
    with Generator("crowd", broker.host, broker.port, **options) as crowd:
        with memory_watched(broker) as memory:
            comparison = compare(steady, crowd, windows=3, seconds=SECONDS)
        comparison.show("10,000 connections with churn")
        check_counts(crowd.counts)
    assert max(memory) - memory[0] < 10_000 * CONNECTION_KB_MAX / 1024 + MEMORY_SLACK_MB
    wait_until(lambda: broker.samples("penstock_connections")[""] == 2, what="all but the steady client have gone")
    comparison.check()


def test_ten_thousand_partitions(broker: ScaledBroker, steady: Steady) -> None:
    """100 consumers with a fetch session each over 100 partitions, all of which are written to in turn."""
    topics = [f"wide-{number}" for number in range(10)]
    broker.create(topics, 1000)
    broker.write_all(topics, 1000)
    options = {"topics": topics, "partitions": 1000, "consumers": 100, "writes_per_s": 200}
    with Generator("consumers", broker.host, broker.port, **options) as consumers:
        with memory_watched(broker) as memory:
            comparison = compare(steady, consumers, windows=WINDOWS, seconds=SECONDS)
        comparison.show("10,000 partitions, 100 consumers")
        check_counts(consumers.counts)
    assert max(memory) - memory[0] < HELD_BYTES_MAX / (1 << 20) + MEMORY_SLACK_MB
    comparison.check()


@pytest.mark.parametrize("kind", ["slow readers", "never readers"])
def test_readers_that_hardly_read(broker: ScaledBroker, steady: Steady, kind: str) -> None:
    """Fifty of them want a megabyte at a time; what waits for them is bounded, and others do not wait."""
    large = produce_frame(OTHER, 0, values(*["x" * 10_000] * 10))
    broker.write_frames([large] * 50, 1)
    options = {"topic": OTHER, "readers": 50, "answer_bytes": ANSWER_BYTES}
    with Generator(kind, broker.host, broker.port, **options) as readers:
        with memory_watched(broker) as memory:
            comparison = compare(steady, readers, windows=WINDOWS, seconds=SECONDS)
        comparison.show(f"50 {kind}")
        check_counts(readers.counts)
    assert max(memory) - memory[0] < HELD_BYTES_MAX / (1 << 20) + MEMORY_SLACK_MB
    comparison.check()


def test_a_burst(broker: ScaledBroker, steady: Steady) -> None:
    """Others send 200 requests a second, then 2,000."""
    options = {"topic": OTHER, "producers": 10, "requests_per_s": 200, "factor": 10}
    with Generator("burst", broker.host, broker.port, **options) as burst:
        with memory_watched(broker) as memory:
            comparison = compare(steady, burst, windows=WINDOWS, seconds=SECONDS)
        comparison.show("ten times the load")
        check_counts(burst.counts)
    assert max(memory) - memory[0] < MEMORY_SLACK_MB
    comparison.check()
