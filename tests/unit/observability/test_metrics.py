"""Counters, timings and the page Prometheus reads."""

import asyncio
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from penstock.observability.exposition import LagSample, LogSample, pages
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.timings import Timings
from penstock.runtime.files import Calls


def samples(metrics: BrokerMetrics, logs: list[LogSample] = [], lags: list[LagSample] = []) -> dict[str, list[Sample]]:  # noqa: B006
    text = b"".join(pages(metrics.registry, logs, lags)).decode()
    found: dict[str, list[Sample]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def value(found: dict[str, list[Sample]], name: str, **labels: str) -> float:
    (sample,) = [one for one in found[name] if labels.items() <= one.labels.items()]
    return sample.value


@pytest.mark.feature("P-16", "F-08")
def test_requests_are_counted_and_timed_by_api() -> None:
    metrics = BrokerMetrics({0: "Produce", 1: "Fetch"})
    for seconds in (0.0002, 0.02, 40.0):
        metrics.requests.observe(0, seconds)
    metrics.requests.observe(99, 0.001)
    metrics.requests.failed(1, "OFFSET_OUT_OF_RANGE")
    found = samples(metrics)
    assert value(found, "penstock_requests_total", api="Produce") == 3
    assert value(found, "penstock_requests_total", api="99") == 1
    assert value(found, "penstock_request_seconds_bucket", api="Produce", le="0.025") == 2
    assert value(found, "penstock_request_seconds_bucket", api="Produce", le="+Inf") == 3
    assert value(found, "penstock_request_seconds_sum", api="Produce") == pytest.approx(40.0202)
    assert value(found, "penstock_request_errors_total", api="Fetch", error="OFFSET_OUT_OF_RANGE") == 1


@pytest.mark.feature("P-16")
def test_traffic_connections_and_storage_are_counted(tmp_path: Path) -> None:
    calls = Calls()
    calls.read, calls.write, calls.sync = 3, 2, 1
    metrics = BrokerMetrics({}, tmp_path, calls)
    metrics.produced(10, 1000, 0.00001)
    metrics.fetched(500, messages=5)
    metrics.connections.opened()
    metrics.connections.opened()
    metrics.connections.closed()
    metrics.read(0.001, 500)
    metrics.flush_round(0.002, logs=3, files=4)
    metrics.rolled(0.003)
    metrics.recovered(0.4, scanned_bytes=77, cut_bytes=7)
    metrics.corrupt_batch()
    metrics.add_gauge("penstock_partitions_offline", "Partitions that cannot be used", lambda: 2)
    found = samples(metrics)
    expected = {
        "penstock_messages_in_total": 10,
        "penstock_bytes_in_total": 1000,
        "penstock_messages_out_total": 5,
        "penstock_bytes_out_total": 500,
        "penstock_connections": 1,
        "penstock_connections_opened_total": 2,
        "penstock_log_append_seconds_count": 1,
        "penstock_log_read_seconds_count": 1,
        "penstock_flush_seconds_count": 1,
        "penstock_flush_files_total": 4,
        "penstock_log_roll_seconds_count": 1,
        "penstock_log_recovery_seconds_count": 1,
        "penstock_log_cut_bytes_total": 7,
        "penstock_corrupt_batches_total": 1,
        "penstock_partitions_offline": 2,
    }
    assert {name: found[name][0].value for name in expected} == expected
    assert value(found, "penstock_disk_free_bytes") > 0
    assert value(found, "penstock_memory_resident_bytes", kind="anonymous") > 1 << 20
    assert value(found, "penstock_memory_mapped_bytes") > 1 << 20
    assert value(found, "process_open_fds") > 2
    operations = {"read": 3, "write": 2, "sync": 1}
    for operation, count in operations.items():
        assert value(found, "penstock_disk_operations_total", operation=operation) == count


@pytest.mark.feature("P-16")
def test_logs_and_lags_have_a_line_each_whatever_their_names() -> None:
    logs = [LogSample("orders", index, 5, 100 + index, 1 << 20, 2) for index in range(1000)]
    lags = [LagSample('od"d\\\nname', "orders", 0, 90, 10), LagSample("g", "orders", 1, 7, None)]
    found = samples(BrokerMetrics({}), logs, lags)
    assert len(found["penstock_log_size_bytes"]) == 1000
    assert value(found, "penstock_log_high_watermark", topic="orders", partition="999") == 1099
    assert value(found, "penstock_consumer_lag", group='od"d\\\nname') == 10
    assert value(found, "penstock_consumer_committed_offset", group="g") == 7
    assert len(found["penstock_consumer_lag"]) == 1


def test_the_page_of_a_large_node_comes_in_small_pieces() -> None:
    metrics = BrokerMetrics({})
    for api in range(70):
        metrics.requests.observe(api, 0.1)
    logs = [LogSample(f"topic-{index}", 0, 0, 1, 1, 1) for index in range(10_000)]
    pieces = list(pages(metrics.registry, logs, []))
    assert max(map(len, pieces)) < 100_000
    assert len(pieces) > 100


def test_timings_know_their_quantiles() -> None:
    timings = Timings((0.001, 0.01, 0.1))
    for seconds in [0.0005] * 98 + [0.05, 5.0]:
        timings.observe(seconds)
    assert timings.count == 100
    assert [timings.quantile(share) for share in (0.5, 0.99, 1.0)] == [0.001, 0.1, float("inf")]


def test_a_blocked_loop_is_seen() -> None:
    metrics = BrokerMetrics({})

    async def block() -> None:
        metrics.loop_lag.start(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        time.sleep(0.2)  # noqa: ASYNC251 - this is the fault under test
        await asyncio.sleep(0.05)
        metrics.loop_lag.stop()

    asyncio.run(block())
    assert metrics.loop_lag.worst_seconds > 0.15
    assert value(samples(metrics), "penstock_loop_lag_worst_seconds") > 0.15
    assert metrics.loop_lag.timings.quantile(1.0) >= 0.25
