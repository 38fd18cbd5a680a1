"""Each piece of work that `make bench` measures runs, and gives figures that can be true. How good they are is not
asked here: that depends on the machine."""

import pytest

from bench.meter import Meter
from bench.rivals import Penstock
from bench.rounds import Options, medians, works
from bench.spread import Figures
from bench.work import WORK, Run
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V2, TransactionClient

CONNECTIONS = 300
MAIN_FIGURE = {
    "produce_batches": "messages_per_s",
    "produce_single": "requests_per_s",
    "acknowledge": "p50_ms",
    "end_to_end": "p50_ms",
    "fetch": "bytes_per_s",
    "produce_client": "messages_per_s",
    "partitions": "requests_per_s",
    "partitions_wide": "requests_per_s",
    "connections": "requests_per_s",
    "transaction_alone": "transactions_per_s",
    "transactions_1": "transactions_per_s",
    "transactions_10": "transactions_per_s",
    "transactions_100": "transactions_per_s",
    "transactions_share": "share",
    "transactions_open": "share",
}


def measure(name: str, broker: Penstock) -> Figures:
    meter = Meter(broker)
    run = Run(address=broker.address, seconds=0.3, warm_up=0.05, meter=meter, connections=CONNECTIONS)
    return WORK[name](run)


@pytest.mark.feature("P-24", "K-18")
@pytest.mark.parametrize("name", WORK)
def test_work_gives_figures(name: str, broker: Penstock) -> None:
    figures = measure(name, broker)
    assert figures[MAIN_FIGURE[name]] > 0
    assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["p999_ms"] < 10_000
    assert 0 < figures["service_p50_ms"] <= figures["service_p99_ms"]
    assert 0 < figures["generator_cpu_share"] < 1.5
    assert figures["cpu_ms_per_1000_messages"] >= 0
    assert figures["others_cpu_share"] >= 0


@pytest.mark.feature("F-14")
def test_connections_are_counted_and_weighed(broker: Penstock) -> None:
    figures = measure("connections", broker)
    assert (figures["held"], figures["errors"]) == (CONNECTIONS, 0)
    assert 0 < figures["set_up_p50_ms"] <= figures["set_up_p99_ms"]
    assert "kib_per_connection" in figures


@pytest.mark.feature("K-07")
def test_transactions_of_the_benchmark_are_real_ones(broker: Penstock) -> None:
    figures = measure("transactions_10", broker)
    with RawClient(*broker.address) as client:
        for number in range(16):
            TransactionClient(client, f"bench-transactions-10-{number}", V2).wait_for("CompleteCommit")
    assert figures["messages_per_s"] == pytest.approx(10 * figures["transactions_per_s"])


def test_memory_after_the_load_is_taken_before_the_crowds(broker: Penstock) -> None:
    options = Options(seconds=0.1, warm_up=0.0, only=("memory", "acknowledge", "partitions"))
    found = dict(works(broker.address, options, broker))
    assert list(found) == ["acknowledge", "memory_loaded", "partitions"]
    memory = found["memory_loaded"]
    assert memory["rss_mb"] == pytest.approx(memory["rss_anon_mb"] + memory["rss_file_mb"])


def test_medians_are_taken_figure_by_figure() -> None:
    rounds = [{"work": {"a": 1.0, "b": 9.0}}, {"work": {"a": 3.0, "b": 5.0}}, {"work": {"a": 2.0, "b": 7.0}}]
    assert medians(rounds) == {"work": {"a": 2.0, "b": 7.0}}
