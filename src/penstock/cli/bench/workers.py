"""Common parts of the worker processes of `penstock bench`: their shares of the work, and their reports.

Each worker is a process of its own, since one Python process can fill or empty a Kafka client only so fast. A worker
makes its clients, reports that it is ready, and begins when all are. Four times a second it sends the counts and
latencies since its last report through a queue. Every message begins with the time at which it was passed to the
client, so a consumer can compute its end-to-end latency.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any

from penstock.cli.bench.latencies import Latencies

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

REPORT_INTERVAL_S = 0.25
DRAIN_TIMEOUT_S = 30.0
STAMP = Struct(">q")


@dataclass(slots=True)
class Report:
    """Work of one worker since its last report."""

    group: str
    at: float = 0.0
    messages: int = 0
    size_bytes: int = 0
    errors: int = 0
    error_text: str = ""
    latencies: Counter[int] = field(default_factory=Counter)
    ready: bool = False
    finished: bool = False
    unsent: int = 0
    """Messages that were due and could not be passed to the client in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Signals between the parent and the workers."""

    reports: Queue[Report]
    go: Event
    stop: Event
    began: Synchronized[float]
    """The time of the start, on the machine's monotonic clock, which all processes share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One worker's part of a group."""

    client: dict[str, Any]
    clients: int
    part: float
    """This worker's fraction of the group's rate."""
    seconds: float
    seed: int
    partitions: tuple[dict[int, int], ...] = ()
    """Partitions and first offsets of each client, for consumers with a fixed assignment."""
    from_start: bool = False
    drain: bool = False
    """Whether to continue until nothing more arrives, once the producers have ended."""


def leave_interrupts_to_parent() -> None:
    """Ignore Ctrl-C, which reaches every process of a terminal: the parent ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Reporter:
    def __init__(self, group: str, signals: Signals) -> None:
        self._group = group
        self._signals = signals
        self._due = 0.0
        self._latencies = Latencies()
        self.now = Report(group, latencies=self._latencies.counts)

    def latency(self, seconds: float) -> None:
        self._latencies.add(seconds)

    def failed(self, error: Any) -> None:
        self.now.errors += 1
        self.now.error_text = error.str()

    def maybe_send(self) -> None:
        if time.monotonic() >= self._due:
            self.send()

    def send(self, *, ready: bool = False, finished: bool = False) -> None:
        self.now.ready, self.now.finished, self.now.at = ready, finished, time.monotonic()
        self._signals.reports.put(self.now)
        self._latencies = Latencies()
        self.now = Report(self._group, latencies=self._latencies.counts)
        self._due = time.monotonic() + REPORT_INTERVAL_S

    def ready(self, start: float) -> float:
        """Wait for the other workers and for the start of the group; return the time of the start."""
        self.send(ready=True)
        self._signals.go.wait()
        begin = float(self._signals.began.value) + start
        time.sleep(max(0.0, begin - time.monotonic()))
        return begin
