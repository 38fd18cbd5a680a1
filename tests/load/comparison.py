"""The steady client alone and disturbed, in turn, in the same run on the same machine: medians of several windows."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from tests.load.generator import Generator
from tests.load.steady import WHAT, Steady, Window
from tests.scale.scaled_broker import ScaledBroker

FACTOR_MAX = 2.0
PEAK_INTERVAL_S = 0.05
BUSY_MACHINE_MS = 1.0


@dataclass(slots=True)
class Comparison:
    """p99 by what was waited for; medians over the windows."""

    alone: list[Window] = field(default_factory=list)
    disturbed: list[Window] = field(default_factory=list)

    def p99(self, windows: list[Window], what: str) -> float:
        return median(window.p99_ms[what] for window in windows)

    def p50(self, windows: list[Window], what: str) -> float:
        return median(window.p50_ms[what] for window in windows)

    def show(self, name: str) -> None:
        print(f"\n{name}: p50/p99 in ms, alone → disturbed (medians of {len(self.alone)} windows)")
        for what in WHAT:
            alone, disturbed = (
                f"{self.p50(windows, what):6.2f}/{self.p99(windows, what):6.2f}"
                for windows in (self.alone, self.disturbed)
            )
            pairs = zip(self.alone, self.disturbed, strict=True)
            each = " ".join(f"{one.p99_ms[what]:.2f}→{other.p99_ms[what]:.2f}" for one, other in pairs)
            print(f"  {what:14} {alone} → {disturbed}   p99 × {self.factor(what):.2f}   ({each})")

    def factor(self, what: str) -> float:
        return self.p99(self.disturbed, what) / self.p99(self.alone, what)

    def check(self) -> None:
        """Not more than twice as late, apart from what the machine takes from everybody while generators run.

        Not judged where even a process that only echoes is late while nobody disturbs.
        """
        if self.p99(self.alone, "echoed") > BUSY_MACHINE_MS:
            warnings.warn("the machine is too busy to judge latencies", stacklevel=2)
            return
        machine = max(0.0, self.p99(self.disturbed, "echoed") - self.p99(self.alone, "echoed"))
        for what in ("acknowledged", "arrived"):
            limit = FACTOR_MAX * self.p99(self.alone, what) + machine
            assert self.p99(self.disturbed, what) <= limit, f"{what}: p99 × {self.factor(what):.2f}"


def compare(steady: Steady, generator: Generator, *, windows: int, seconds: float) -> Comparison:
    comparison = Comparison()
    generator.end()
    steady.measure(min(seconds, 2.0))  # warm-up
    for _ in range(windows):
        comparison.alone.append(steady.measure(seconds))
        generator.begin()
        comparison.disturbed.append(steady.measure(seconds))
        generator.end()
    return comparison


def check_counts(counts: dict[str, int]) -> None:
    """What the generators saw: no error, no lost connection."""
    print("  " + ", ".join(f"{name}: {number}" for name, number in counts.items()))
    assert not [name for name in counts if name.startswith("failed")], counts


@contextmanager
def memory_watched(broker: ScaledBroker) -> Iterator[list[float]]:
    """Anonymous memory in MB, many times a second; the first is from before."""
    samples = [broker.anonymous_mb()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(PEAK_INTERVAL_S):
            samples.append(broker.anonymous_mb())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield samples
    finally:
        ended.set()
        watching.join()
    print(f"  anonymous memory of the broker: {samples[0]:.0f} MB before, at most {max(samples):.0f} MB")
