"""The pieces of work on a secured broker, a function each."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from bench.meter import Meter, between, histogram, quantile
from bench.pump import Pumped, pump
from bench.rivals import Penstock, Rival
from bench.security.brokers import ClosedPenstock, Secured
from bench.security.crowd import Crowd
from bench.spread import Figures, percentile, spread
from bench.wire import Address, Connect, Wire, produce_frame
from bench.work.connections import allow_descriptors
from bench.work.fetch import fetch
from bench.work.produce import MESSAGE_BYTES, produce_batches, produce_single
from bench.work.run import Run, Work

LOOP_LAG: Final = "penstock_loop_lag_seconds"
SLICE_S: Final = 0.5
STARTS: Final = 5


class Span(NamedTuple):
    """How long to measure, and how long to warm a broker up before that."""

    seconds: float
    warm_up: float

    def run(self, broker: Rival, address: Address, connect: Connect = Wire) -> Run:
        return Run(address=address, seconds=self.seconds, warm_up=self.warm_up, meter=Meter(broker), connect=connect)


def _over_tls(work: Work) -> Callable[[Secured, Span], Figures]:
    return lambda broker, span: work(span.run(broker, broker.tls_address, broker.connect))


def acknowledge(broker: Secured, span: Span) -> Figures:
    """One message a request, one in flight, over TLS and without it in turn."""
    runs = {
        "tls": span.run(broker, broker.tls_address, broker.connect),
        "plain": span.run(broker, broker.address),
    }
    topic = "bench-ack"
    runs["plain"].create_topic(topic)
    lanes = {name: run.lane(topic, [produce_frame(topic, 0, 1, MESSAGE_BYTES)]) for name, run in runs.items()}
    latencies: dict[str, list[float]] = {name: [] for name in lanes}
    cpu_us: dict[str, list[float]] = {name: [] for name in lanes}
    for lane in lanes.values():
        pump(lane, span.warm_up)
    for _ in range(max(1, round(span.seconds / SLICE_S))):
        for name, lane in lanes.items():
            before = broker.cpu_ns()
            pumped: Pumped = pump(lane, SLICE_S)
            cpu_us[name].append((broker.cpu_ns() - before) / 1000 / max(pumped.answers, 1))
            latencies[name] += pumped.latencies
    for lane in lanes.values():
        lane.close()
    figures: Figures = {}
    for name in lanes:
        figures |= {f"{name}_{key}": value for key, value in spread(latencies[name]).items()}
        figures[f"{name}_cpu_us"] = statistics.median(cpu_us[name])
    return figures


WORKS: dict[str, Callable[[Secured, Span], Figures]] = {
    "tls_produce_batches": _over_tls(produce_batches),
    "tls_produce_single": _over_tls(produce_single),
    "tls_fetch": _over_tls(fetch),
    "acknowledge": acknowledge,
}
"""Those on a broker that has run for a while; `crowd` and `start` want a fresh one."""


def crowd(make: Callable[[Path], Secured], directory: Path, count: int) -> Figures:
    """Connections with TLS and a login, and in another run of the broker as many without both."""
    allow_descriptors(count)
    plain = _crowd(make(directory / "plain"), count, is_secured=False)
    secured = _crowd(make(directory / "secured"), count, is_secured=True)
    return {
        **secured,
        "plain_up_s": plain["up_s"],
        "plain_rss_mb": plain["rss_mb"],
        "rss_above_plain_mb": secured["rss_mb"] - plain["rss_mb"],
        "above_plain_kib": (secured["rss_mb"] - plain["rss_mb"]) * 1024 / count,
    }


def _crowd(broker: Secured, count: int, *, is_secured: bool) -> Figures:
    broker.start()
    opened = Crowd(broker.sasl_address, broker.context) if is_secured else Crowd(broker.address, None)
    try:
        url = broker.metrics_url
        lag = histogram(url, LOOP_LAG) if url else {}
        meter = Meter(broker)
        meter.begin()
        up_s = opened.open(count)
        figures = meter.end(count)
        if url:
            since = between(lag, histogram(url, LOOP_LAG))
            figures |= {"lag_p99_ms": quantile(since, 0.99) * 1000, "lag_p999_ms": quantile(since, 0.999) * 1000}
        opened.ask_all()
        took = sorted(member.took for member in opened.members.values())
        return {
            **figures,
            "up_s": up_s,
            "rss_mb": broker.memory()["rss_mb"],
            "set_up_p50_ms": percentile(took, 0.5) * 1000,
            "set_up_p99_ms": percentile(took, 0.99) * 1000,
            "broker_cpu_ms_each": figures["cpu_ms_per_1000_messages"] / 1000,
            "generator_cpu_ms_each": figures["generator_cpu_share"] * up_s * 1000 / count,
        }
    finally:
        opened.close()
        broker.stop()


def start(directory: Path, policy: Path) -> Figures:
    """Seconds until the first answer: open, with everything closed, and with 10,000 rules besides, in turn."""
    kinds: dict[str, Penstock] = {
        "off": Penstock(directory / "off"),
        "on": ClosedPenstock(directory / "on"),
        "rules": ClosedPenstock(directory / "rules", policy),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(STARTS + 1):
        for name, broker in kinds.items():
            try:
                seconds[name].append(broker.start())
            finally:
                broker.stop()
    # The first start of each makes its directory.
    return {f"{name}_s": statistics.median(taken[1:]) for name, taken in seconds.items()}
