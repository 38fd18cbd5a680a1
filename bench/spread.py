"""Figures of a piece of work, and percentiles of what took time."""

from __future__ import annotations

from collections.abc import Iterable

Figures = dict[str, float]


def percentile(sorted_values: list[float], share: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


def spread(seconds: Iterable[float]) -> Figures:
    """Percentiles in milliseconds."""
    values = sorted(seconds)
    shares = {"p50_ms": 0.5, "p99_ms": 0.99, "p999_ms": 0.999}
    return {name: percentile(values, share) * 1000 for name, share in shares.items()}
