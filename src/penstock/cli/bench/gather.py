"""Reports of the workers of `penstock bench`, added up by group and second, and shown as they arrive."""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.latencies import Latencies
from penstock.cli.terminal.errors import CommandError
from penstock.cli.terminal.output import console

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.cli.bench.workers import Report


@dataclass(slots=True)
class Second:
    """Work of a group in one second of the run."""

    messages: int = 0
    size_bytes: int = 0
    errors: int = 0
    latencies: Latencies = field(default_factory=Latencies)

    def add(self, report: Report) -> None:
        self.messages += report.messages
        self.size_bytes += report.size_bytes
        self.errors += report.errors
        self.latencies.counts.update(report.latencies)


@dataclass(slots=True)
class GroupTotals:
    """All workers of one group together."""

    role: str
    workers: int
    total: Second = field(default_factory=Second)
    seconds: dict[int, Second] = field(default_factory=dict)
    error_text: str = ""
    unsent: int = 0
    ready: int = 0
    finished: int = 0
    last_message: float = 0.0
    # The last second, for the display.
    recent: list[tuple[float, int, int, Counter[int]]] = field(default_factory=list)

    def add(self, report: Report, began: float | None) -> None:
        self.ready += report.ready
        self.finished += report.finished
        self.unsent += report.unsent
        self.error_text = report.error_text or self.error_text
        self.total.add(report)
        if report.messages:
            self.last_message = report.at
        if began is not None:
            self.seconds.setdefault(max(0, int(report.at - began)), Second()).add(report)
        self.recent.append((report.at, report.messages, report.size_bytes, report.latencies))

    def rate(self, now: float) -> tuple[float, float, Latencies]:
        self.recent = [item for item in self.recent if item[0] > now - 1.0]
        latest: Counter[int] = Counter()
        for item in self.recent:
            latest.update(item[3])
        return sum(item[1] for item in self.recent), sum(item[2] for item in self.recent), Latencies(latest)


class Gathering:
    """Receiver of reports until a condition holds; a worker that dies ends the run."""

    def __init__(
        self, totals_by_group: dict[str, GroupTotals], processes: list[Any], reports: Any, *, live: bool
    ) -> None:
        self._totals_by_group = totals_by_group
        self._processes = processes
        self._reports = reports
        self._began: float | None = None
        self._live = self._display() if live and sys.stderr.isatty() else None

    def _display(self) -> Any:
        from rich.live import Live

        return Live(console=console(stderr=True), auto_refresh=False, transient=True)

    def __enter__(self) -> Gathering:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def begin(self, at: float) -> None:
        self._began = at

    def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Receive reports; return whether the condition held within the time."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                return False
            with contextlib.suppress(queue.Empty):
                report = self._reports.get(timeout=0.1)
                self._totals_by_group[report.group].add(report, self._began)
            if any(process.exitcode not in (None, 0) for process in self._processes):
                raise CommandError("a worker process ended with an error (see above)")
            if self._live:
                self._live.update(self._table(), refresh=True)
        return True

    def _table(self) -> Table:
        from rich.table import Table

        now = time.monotonic()
        elapsed = 0.0 if self._began is None else now - self._began
        columns = ("", "messages/s", "MB/s", "p50 ms", "p99 ms", "messages", "errors")
        table = Table(*columns, title=f"{elapsed:.0f} s; the last second", box=None)
        for name, totals in self._totals_by_group.items():
            messages, size_bytes, latencies = totals.rate(now)
            p50, p99 = latencies.quantile_ms(0.5), latencies.quantile_ms(0.99)
            table.add_row(
                name,
                f"{messages:,.0f}",
                f"{size_bytes / 1e6:,.1f}",
                "-" if p50 is None else f"{p50:,.2f}",
                "-" if p99 is None else f"{p99:,.2f}",
                f"{totals.total.messages:,}",
                f"{totals.total.errors:,}",
            )
        return table
