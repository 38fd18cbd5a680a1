"""A histogram that costs next to nothing to feed.

prometheus-client's own takes a lock and resolves labels for every observation, about 2 µs; this one is a bisect and
two additions, about 0.2 µs, and is turned into a Prometheus family at a scrape. It is not thread-safe:
feed it on the event loop's thread.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily

# From a request served out of memory to one that waited for a slow disk; long polls end in the last ones.
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Timings:
    """Counts of durations by bucket. `bounds` are upper edges in seconds, inclusive."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)

    def quantile(self, share: float) -> float:
        """An upper bound of the given quantile: the edge of the bucket it lies in."""
        wanted = share * self.count
        for bound, seen in zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True):
            if seen >= wanted:
                return bound
        return float("inf")

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts under the names that Prometheus gives the edges."""
        edges = [*(repr(bound) for bound in self.bounds), "+Inf"]
        return list(zip(edges, map(float, accumulate(self.counts)), strict=True))


def histogram(name: str, help_text: str, timings: Timings) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, help_text, buckets=timings.buckets(), sum_value=timings.sum)


def labelled_histogram(name: str, help_text: str, label: str, timings: Mapping[str, Timings]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, help_text, labels=[label])
    for value, one in timings.items():
        family.add_metric([value], buckets=one.buckets(), sum_value=one.sum)
    return family
