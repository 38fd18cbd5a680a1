"""`penstock bench`: load on a broker, with a live display and percentiles at the end.

It measures what a Python client sees, clients included; the broker's own limits are measured by `make bench`.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.bench_load import STAMP_BYTES, Latencies, Plan, Report, run_consumer, run_producer
from penstock.cli.client import (
    DEFAULT_SERVER,
    REQUEST_TIMEOUT_S,
    BootstrapServer,
    ClientProperties,
    Cluster,
    connect,
    translated,
)
from penstock.cli.errors import CommandError, ExitCode
from penstock.cli.output import Output, console, note, print_json, print_table
from penstock.cli.produce import Acks, Compression
from penstock.cli.topic import offset_ranges

if TYPE_CHECKING:
    from rich.table import Table

QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
# Workers end by themselves; one that does not within this is ended.
END_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Side:
    """All workers of one role together."""

    messages: int = 0
    size_bytes: int = 0
    errors: int = 0
    error_text: str = ""
    latencies: Latencies = field(default_factory=Latencies)
    finished: int = 0
    last_message: float = 0.0
    # The last second, for the display.
    recent: list[tuple[float, int, int, Counter[int]]] = field(default_factory=list)

    def add(self, report: Report, now: float) -> None:
        self.messages += report.messages
        self.size_bytes += report.size_bytes
        self.errors += report.errors
        self.error_text = report.error_text or self.error_text
        self.latencies.counts.update(report.latencies)
        self.finished += report.finished
        if report.messages:
            self.last_message = now
        self.recent.append((now, report.messages, report.size_bytes, report.latencies))

    def rate(self, now: float) -> tuple[float, float, Latencies]:
        self.recent = [item for item in self.recent if item[0] > now - 1.0]
        latest: Counter[int] = Counter()
        for item in self.recent:
            latest.update(item[3])
        return sum(item[1] for item in self.recent), sum(item[2] for item in self.recent), Latencies(latest)


def bench(
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="Default: one made for the run, and deleted.")
    ] = None,
    producers: Annotated[int, typer.Option("--producers", min=0, help="Producer processes.")] = 1,
    consumers: Annotated[
        int, typer.Option("--consumers", min=0, help="Consumer processes, which share the partitions.")
    ] = 1,
    size: Annotated[int, typer.Option("--size", "-s", min=STAMP_BYTES, help="Bytes of a message.")] = 100,
    rate: Annotated[int, typer.Option("--rate", "-r", min=0, help="Messages a second in all; 0 for no limit.")] = 0,
    duration: Annotated[float, typer.Option("--duration", "-d", min=0.5, help="Seconds of load.")] = 10.0,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, help="Of a topic made for the run.")] = 4,
    acks: Annotated[Acks, typer.Option("--acks")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    linger_ms: Annotated[float, typer.Option("--linger-ms", min=0, help="How long a client gathers a batch.")] = 5.0,
    batch_bytes: Annotated[int, typer.Option("--batch-bytes", min=1)] = 1_000_000,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="table for people, json for programs.")
    ] = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Put load on a broker and measure throughput and latency."""
    if not producers and not consumers:
        raise CommandError("there is nothing to do", ExitCode.USAGE, hint="give --producers or --consumers")
    cluster = connect(bootstrap_server, properties)
    with _topic(cluster, topic, partitions) as name:
        plan = Plan(
            client=cluster.config(),
            topic=name,
            message_bytes=size,
            rate=rate / producers if producers else 0,
            acks=acks.value,
            compression=compression.value,
            linger_ms=linger_ms,
            batch_bytes=batch_bytes,
        )
        if producers:
            cluster.producer(**plan.producer_options())  # options that do not agree are refused here, not in a worker
        shares = _shares(cluster, name, consumers, from_end=producers > 0)
        sides, seconds = _run(plan, producers, shares, duration, live=output is Output.TABLE)
    document = _document(sides, seconds, plan)
    if output is Output.JSON:
        print_json(document)
    else:
        _show(document)
    failures = {role: side for role, side in sides.items() if side.errors}
    for role, side in failures.items():
        raise CommandError(f"{side.errors} errors in the {role}s, the last: {side.error_text}")


@contextlib.contextmanager
def _topic(cluster: Cluster, name: str | None, partitions: int) -> Iterator[str]:
    from confluent_kafka.admin import NewTopic

    admin = cluster.admin()
    if name is not None:
        cluster.check_topics([name], admin)
        yield name
        return
    made = f"penstock-bench-{uuid.uuid4().hex[:8]}"
    with translated(f"topic {made}"):
        admin.create_topics([NewTopic(made, partitions, 1)], request_timeout=REQUEST_TIMEOUT_S)[made].result()
    try:
        yield made
    finally:
        with contextlib.suppress(Exception):  # the broker may be what failed
            admin.delete_topics([made], request_timeout=REQUEST_TIMEOUT_S)[made].result()


def _shares(cluster: Cluster, topic: str, consumers: int, *, from_end: bool) -> list[dict[int, int]]:
    """Partitions and first offsets of each consumer. Without producers what is there already is the load."""
    if not consumers:
        return []
    admin = cluster.admin()
    partitions = sorted(cluster.metadata(admin).topics[topic].partitions)
    ranges = offset_ranges(admin, [(topic, index) for index in partitions])
    starts = {index: ranges[topic, index][1 if from_end else 0] for index in partitions}
    return [{index: starts[index] for index in partitions[share::consumers]} for share in range(consumers)]


def _run(
    plan: Plan, producers: int, shares: list[dict[int, int]], duration: float, *, live: bool
) -> tuple[dict[str, Side], dict[str, float]]:
    """Start the workers, gather their reports until the time is over, end them: producers first."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    stops = {"producer": context.Event(), "consumer": context.Event()}
    workers = {
        "producer": [
            context.Process(target=run_producer, args=(plan, reports, stops["producer"]), daemon=True)
            for _ in range(producers)
        ],
        "consumer": [
            context.Process(target=run_consumer, args=(plan, reports, stops["consumer"], share), daemon=True)
            for share in shares
            if share
        ],
    }
    sides = {role: Side() for role, processes in workers.items() if processes}
    for process in (*workers["consumer"], *workers["producer"]):
        process.start()
    gathering = _Gathering(sides, workers, reports, live)
    try:
        with gathering:
            gathering.until_first_report()
            started = time.monotonic()
            gathering.until(lambda: time.monotonic() - started >= duration)
            seconds = {}
            for role in sides:
                stops[role].set()
                gathering.until_finished(role)
                seconds[role] = max(sides[role].last_message - started, duration)
    except KeyboardInterrupt:
        note("interrupted")
        raise
    finally:
        for process in (*workers["producer"], *workers["consumer"]):
            process.terminate()
            process.join()
    return sides, seconds


class _Gathering:
    """Adds up reports, and shows them while they come in."""

    def __init__(self, sides: dict[str, Side], workers: dict[str, list[Any]], reports: Any, live: bool) -> None:
        self._sides = sides
        self._workers = workers
        self._reports = reports
        self._live = self._display() if live and sys.stderr.isatty() else None

    def _display(self) -> Any:
        from rich.live import Live

        return Live(console=console(stderr=True), auto_refresh=False, transient=True)

    def __enter__(self) -> _Gathering:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def until(self, done: Any) -> None:
        while not done():
            with contextlib.suppress(queue.Empty):
                report = self._reports.get(timeout=0.1)
                self._sides[report.role].add(report, time.monotonic())
            self._check()
            if self._live:
                self._live.update(self._table(), refresh=True)

    def until_first_report(self) -> None:
        """Processes take a moment to start; the clock runs from the first sign of life."""
        deadline = time.monotonic() + END_TIMEOUT_S
        self.until(lambda: time.monotonic() > deadline or any(side.recent for side in self._sides.values()))

    def until_finished(self, role: str) -> None:
        deadline = time.monotonic() + END_TIMEOUT_S
        side, count = self._sides[role], len(self._workers[role])
        self.until(lambda: side.finished >= count or time.monotonic() > deadline)

    def _check(self) -> None:
        for role, processes in self._workers.items():
            if any(process.exitcode not in (None, 0) for process in processes):
                raise CommandError(f"a {role} process ended with an error (see above)")

    def _table(self) -> Table:
        from rich.table import Table

        table = Table("", "messages/s", "MB/s", "p50 ms", "p99 ms", "messages", title="last second", box=None)
        now = time.monotonic()
        for role, side in self._sides.items():
            messages, size_bytes, latencies = side.rate(now)
            p50, p99 = latencies.quantile_ms(0.5), latencies.quantile_ms(0.99)
            table.add_row(
                f"{role}s",
                f"{messages:,.0f}",
                f"{size_bytes / 1e6:,.1f}",
                "-" if p50 is None else f"{p50:,.2f}",
                "-" if p99 is None else f"{p99:,.2f}",
                f"{side.messages:,}",
            )
        return table


def _document(sides: dict[str, Side], seconds: dict[str, float], plan: Plan) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for role, side in sides.items():
        latency = {name: side.latencies.quantile_ms(share) for name, share in QUANTILES}
        results[f"{role}s"] = {
            "messages": side.messages,
            "bytes": side.size_bytes,
            "errors": side.errors,
            "seconds": round(seconds[role], 3),
            "messages_per_second": round(side.messages / seconds[role], 1),
            "bytes_per_second": round(side.size_bytes / seconds[role], 1),
            "latency_ms": {name: None if value is None else round(value, 3) for name, value in latency.items()},
        }
    settings = {"message_bytes": plan.message_bytes, "acks": plan.acks, "compression": plan.compression}
    return {"topic": plan.topic, **settings, **results}


def _show(document: dict[str, Any]) -> None:
    columns = ["", "messages", "per second", "MB/s", *(name for name, _ in QUANTILES)]
    rows = []
    for role in ("producers", "consumers"):
        if role in document:
            side = document[role]
            latency = [_milliseconds(side["latency_ms"][name]) for name, _ in QUANTILES]
            rate, size_rate = side["messages_per_second"], side["bytes_per_second"]
            rows.append([role, side["messages"], f"{rate:,.0f}", f"{size_rate / 1e6:,.1f}", *latency])
    print_table(columns, rows, numbers=columns[1:])
    note("Latency in ms: of producers until the acknowledgement, of consumers from end to end.")


def _milliseconds(value: float | None) -> str | None:
    """Three digits are all that the buckets are worth."""
    if value is None:
        return None
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
