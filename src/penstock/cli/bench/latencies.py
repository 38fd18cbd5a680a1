"""Durations in logarithmic buckets, cheap to add up across processes."""

from __future__ import annotations

import math
from collections import Counter

QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
# Buckets grow by 5 %: a percentile is right to within that, and a histogram is a few hundred numbers.
_GROWTH = math.log(1.05)


class Latencies:
    def __init__(self, counts: Counter[int] | None = None) -> None:
        self.counts: Counter[int] = Counter() if counts is None else counts

    def add(self, seconds: float) -> None:
        self.counts[int(math.log(max(seconds, 1e-6) / 1e-6) / _GROWTH)] += 1

    def quantile_ms(self, share: float) -> float | None:
        total = self.counts.total()
        if not total:
            return None
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= share * total:
                return math.exp((bucket + 0.5) * _GROWTH) * 1e-6 * 1000
        return None

    def rounded_ms(self) -> dict[str, float | None]:
        values = {name: self.quantile_ms(share) for name, share in QUANTILES}
        return {name: None if value is None else round(value, 3) for name, value in values.items()}
