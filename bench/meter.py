"""CPU time of the broker and the load generator while work is measured."""

from __future__ import annotations

import time
import urllib.request
from dataclasses import dataclass

import psutil
from prometheus_client.parser import text_string_to_metric_families

from bench.rivals import Rival
from bench.spread import Figures

HISTOGRAM = "penstock_request_seconds"


@dataclass(frozen=True, slots=True)
class _Reading:
    at: float
    generator_cpu: float
    broker_cpu: float
    machine_cpu: float
    service: dict[float, float]
    """Penstock's own histogram of the API that is measured: requests up to each edge."""


class Meter:
    """Between `begin` and `end`: CPU of both sides and of whoever disturbs them, and the broker's own service time.

    Without a broker of our own (`--against`) only the generator's share is known.
    """

    def __init__(self, broker: Rival | None) -> None:
        self._broker = broker
        self._begun: _Reading | None = None
        self._api = ""

    def begin(self, api: str = "") -> None:
        self._api = api
        self._begun = self._read()

    def end(self, messages: int) -> Figures:
        assert self._begun is not None, "the meter was not begun"
        now, then = self._read(), self._begun
        wall = now.at - then.at
        figures = {"generator_cpu_share": (now.generator_cpu - then.generator_cpu) / wall}
        if self._broker is not None:
            cpu = now.broker_cpu - then.broker_cpu
            figures["broker_cpu_share"] = cpu / wall
            figures["cpu_ms_per_1000_messages"] = cpu * 1e6 / max(messages, 1)
            both = now.generator_cpu - then.generator_cpu + cpu
            figures["others_cpu_share"] = max(0.0, now.machine_cpu - then.machine_cpu - both) / wall
        counts = between(then.service, now.service)
        for name, share in (("service_p50_ms", 0.5), ("service_p99_ms", 0.99)):
            if counts and max(counts.values()):
                figures[name] = quantile(counts, share) * 1000
        return figures

    def memory_mb(self) -> float:
        return self._broker.memory()["rss_mb"] if self._broker else 0.0

    def _read(self) -> _Reading:
        cpu = self._broker.cpu_seconds() if self._broker else 0.0
        return _Reading(time.perf_counter(), time.process_time(), cpu, _machine_cpu(), self._service())

    def _service(self) -> dict[float, float]:
        url = self._broker.metrics_url if self._broker and self._api else None
        if url is None:
            return {}
        return histogram(url, HISTOGRAM, api=self._api)


def histogram(url: str, name: str, **labels: str) -> dict[float, float]:
    """One of Penstock's own histograms: how many were up to each edge."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    return {
        float(sample.labels["le"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"{name}_bucket" and labels.items() <= sample.labels.items()
    }


def _machine_cpu() -> float:
    """CPU seconds of all processes and of the kernel, or taken by other virtual machines."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def between(then: dict[float, float], now: dict[float, float]) -> dict[float, float]:
    """What has come into a histogram since."""
    return {edge: count - then.get(edge, 0.0) for edge, count in now.items()}


def quantile(counts: dict[float, float], share: float) -> float:
    """Straight between the edges of the bucket it lies in."""
    edges = sorted(counts)
    wanted = share * counts[edges[-1]]
    low, below = 0.0, 0.0
    for edge in edges:
        if counts[edge] >= wanted:
            if edge == float("inf"):
                return low
            return low + (edge - low) * (wanted - below) / max(counts[edge] - below, 1e-9)
        low, below = edge, counts[edge]
    return low
