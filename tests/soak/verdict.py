"""Whether a figure stays flat: medians of the first and the last quarter, and a slope that single peaks do not bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.soak.plan import Schedule
from tests.soak.watch import OpenThings, Sample

SAMPLES_MIN = 8
TREND_SAMPLES_MIN = 160  # of 240 in 20 minutes: taking one takes a while, too, and some are missed
POOLED_THREADS = 4  # pools get their threads when they first need them
POINTS_MAX = 150  # the slope looks at every pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much the later median may lie above the earlier: whichever is more."""

    absolute: float
    share: float


# Python's allocator gives memory back by the MiB, caches fill up to their bounds, and peaks differ.
MEMORY = Allowance(absolute=6.0, share=0.06)
WORKERS = Allowance(absolute=10.0, share=0.15)
FILES = Allowance(absolute=15, share=0.1)
THREADS = Allowance(absolute=2, share=0.0)
DISK = Allowance(absolute=10.0, share=0.15)
LATENCY = Allowance(absolute=10.0, share=1.0)  # others may begin to use the machine meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    what: str
    samples: int
    first: float
    last: float
    slope_per_hour: float
    flat: bool

    def __str__(self) -> str:
        figures = f"{self.first:8.1f} → {self.last:8.1f}  ({self.slope_per_hour:+.1f} an hour, {self.samples} samples)"
        return f"{self.what:42} {figures}{'' if self.flat else '  GROWS'}"


def slope_per_hour(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs (Theil and Sen)."""
    thinned = points[:: max(1, len(points) // POINTS_MAX)]
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for number, earlier in enumerate(thinned)
        for later in thinned[number + 1 :]
        if later[0] > earlier[0]
    ]
    return median(slopes) * 3600 if slopes else 0.0


def trend(what: str, points: Sequence[tuple[float, float]], allowance: Allowance) -> Trend:
    quarter = max(1, len(points) // 4)
    first, last = (median(value for _, value in part) for part in (points[:quarter], points[-quarter:]))
    allowed = max(allowance.absolute, allowance.share * first)
    return Trend(
        what=what,
        samples=len(points),
        first=first,
        last=last,
        slope_per_hour=slope_per_hour(points),
        flat=last - first <= allowed,
    )


def trends(samples: Sequence[Sample], schedule: Schedule) -> list[Trend]:
    """For each life of the broker that lasted well beyond its warm-up."""
    found = []
    for life in sorted({sample.life for sample in samples}):
        lived = [sample for sample in samples if sample.life == life]
        warm = [sample for sample in lived if sample.at >= lived[0].at + schedule.warm_up]
        if len(warm) < SAMPLES_MIN:
            continue
        name = f"life {life // 2 + 1}"
        found += [
            trend(f"{name}: anonymous memory, MB", [(s.at, s.anonymous_mb) for s in warm], MEMORY),
            trend(f"{name}: of the workers, MB", [(s.at, s.workers_mb) for s in warm], WORKERS),
            trend(f"{name}: open files", [(s.at, float(s.files)) for s in warm], FILES),
            trend(f"{name}: threads", [(s.at, float(s.threads)) for s in warm], THREADS),
            trend(f"{name}: disk, MB", [(s.at, s.disk_mb) for s in warm], DISK),
        ]
        latencies = [(s.at, s.p50_ms) for s in warm if s.p50_ms is not None]
        if len(latencies) >= SAMPLES_MIN:
            found.append(trend(f"{name}: acknowledgement p50, ms", latencies, LATENCY))
    return found


def not_judged(found: Sequence[Trend]) -> list[str]:
    """Checks for which no run of the broker was watched long enough."""
    samples: dict[str, int] = {}
    for each in found:
        what = each.what.partition(": ")[2]
        samples[what] = max(samples.get(what, 0), each.samples)
    if not samples:
        return ["no trend: too few samples of a warm broker"]
    return [
        f"no trend of {what}: {count} samples of a warm broker, {TREND_SAMPLES_MIN} are needed"
        for what, count in samples.items()
        if count < TREND_SAMPLES_MIN
    ]


def leaks(before: OpenThings, after: OpenThings) -> list[str]:
    """Resources that are open at the end without clients, and were not at the first rest, also without clients."""
    problems = [f"deleted but still open: {name}" for name in after.deleted]
    if after.trash:
        problems.append(f"{after.trash} things in the trash that nobody emptied")
    if after.threads > before.threads + POOLED_THREADS:
        problems.append(f"{after.threads} threads, {before.threads} at the first rest")
    for kind, count in after.kinds.items():
        # Segments and their indexes come and go with rolls and retention; everything else must be the same.
        allowed = before.kinds.get(kind, 0) + (10 if kind in (".log", ".index", ".timeindex") else 0)
        if count > allowed:
            problems.append(f"{count} open descriptors of kind {kind}, {before.kinds.get(kind, 0)} at the first rest")
    return problems
