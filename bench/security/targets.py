"""Figures to reach, and the table of a result."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from bench.tables import MISSED, UNJUDGED, Row
from bench.targets import (
    GIGABYTES_A_SECOND,
    MEGABYTES,
    MILLION_A_SECOND,
    MILLISECONDS,
    REQUESTS_A_SECOND,
    SECONDS,
    SHARE,
    Medians,
    Unit,
)

HEADINGS: Final = ["work", "Apache Kafka", "without or before", "Penstock", "figure", "must", "aim", "verdict"]
MICROSECONDS: Final = Unit(name="µs CPU", digits=1)


class Judged(enum.Enum):
    """What must be reached: the figure itself, or what it is beside another one."""

    FIGURE = enum.auto()
    SHARE_OF_KAFKA = enum.auto()
    SHARE_OF_OTHER = enum.auto()
    OTHER_BY_IT = enum.auto()
    MORE_THAN_OTHER = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One row. `other` is the figure of the same work without security, or of the tree before it.

    `ratio` is what a work itself says of the two, where it knows better than their quotient.
    """

    title: str
    work: str
    figure: str
    unit: Unit
    judged: Judged
    must: float | None
    aim: float | None
    less: bool = False
    other: str = ""
    ratio: str = ""

    def row(self, figures: dict[str, Medians]) -> Row | None:
        """None if the work was not measured."""
        if self.work not in figures.get("penstock", {}):
            return None
        ours, other, kafka = self._values(figures)
        value = figures["penstock"][self.work].get(self.ratio, self._judged_value(ours, other, kafka))
        cells = [self.title, self.unit.text(kafka), self.unit.text(other), self.unit.text(ours)]
        scale = self._scale()
        wanted = ["" if bound is None else f"{'≤' if self.less else '≥'} {scale.text(bound)}" for bound in self._bounds]
        return [*cells, scale.text(value), *wanted, self._verdict(ours, value)]

    @property
    def _bounds(self) -> tuple[float | None, float | None]:
        return self.must, self.aim

    def _values(self, figures: dict[str, Medians]) -> tuple[float | None, float | None, float | None]:
        own = figures["penstock"][self.work]
        return own.get(self.figure), own.get(self.other), figures.get("kafka", {}).get(self.work, {}).get(self.figure)

    def _judged_value(self, ours: float | None, other: float | None, kafka: float | None) -> float | None:
        beside = kafka if self.judged is Judged.SHARE_OF_KAFKA else other
        if self.judged is Judged.FIGURE or ours is None:
            return ours
        if not beside:
            return None
        if self.judged is Judged.MORE_THAN_OTHER:
            return ours - beside
        return beside / ours if self.judged is Judged.OTHER_BY_IT else ours / beside

    def _scale(self) -> Unit:
        if self.judged in (Judged.FIGURE, Judged.MORE_THAN_OTHER):
            return self.unit
        return SHARE

    def _verdict(self, ours: float | None, value: float | None) -> str:
        if self.must is None:
            return ""
        if value is None:
            return MISSED if ours is None else UNJUDGED
        if self.aim is not None and self._reached(value, self.aim):
            return "aim reached"
        return "reached" if self._reached(value, self.must) else MISSED

    def _reached(self, value: float, wanted: float) -> bool:
        return value <= wanted if self.less else value >= wanted


def _cpu(title: str, work: str, must: float | None, aim: float | None) -> Target:
    """CPU time a request, beside that of another broker."""
    return Target(
        title=title, work=work, figure="our_cpu_us", other="their_cpu_us", unit=MICROSECONDS,
        judged=Judged.OTHER_BY_IT, must=must, aim=aim, ratio="cpu_ratio",
    )  # fmt: skip


def _of_kafka(title: str, work: str, figure: str, unit: Unit, must: float | None, aim: float | None) -> Target:
    return Target(
        title=title, work=work, figure=figure, unit=unit, judged=Judged.SHARE_OF_KAFKA, must=must, aim=aim
    )  # fmt: skip


def _at_most(title: str, work: str, figure: str, unit: Unit, must: float | None, aim: float | None) -> Target:
    return Target(
        title=title, work=work, figure=figure, unit=unit, judged=Judged.FIGURE, must=must, aim=aim, less=True
    )  # fmt: skip


_NAMES: Final = {
    "produce_batches": "produce, batches",
    "produce_single": "produce, one message a request",
    "produce_in_turn": "the same to two partitions in turn",
    "fetch_large": "fetch, 8 MiB a request",
    "fetch_small": "fetch, one message a request",
    "acknowledge": "ack, 1 in flight",
    "api_versions": "ApiVersions",
    "connect": "a connection with one request",
}

TARGETS: Final = (
    *(_cpu(f"plain text, against before: {title}", f"before_{name}", 0.98, 1.0) for name, title in _NAMES.items()),
    *(_cpu(f"10,000 rules, against none: {title}", f"acl_{name}", 0.97, 0.99) for name, title in _NAMES.items()),
    *(_cpu(f"control, the tree itself: {title}", f"control_{name}", None, None) for name, title in _NAMES.items()),
    _of_kafka("TLS produce, batches", "tls_produce_batches", "messages_per_s", MILLION_A_SECOND, 1.5, 2.5),
    _of_kafka(
        "TLS produce, one message a request", "tls_produce_single", "requests_per_s", REQUESTS_A_SECOND, 1.0, 3.0
    ),
    Target(
        title="TLS fetch, one connection", work="tls_fetch", figure="bytes_per_s", unit=GIGABYTES_A_SECOND,
        judged=Judged.FIGURE, must=0.7e9, aim=None,
    ),
    _of_kafka("the same, against Kafka", "tls_fetch", "bytes_per_s", GIGABYTES_A_SECOND, 1.0, 1.5),
    Target(
        title="TLS ack p99, against plain text", work="acknowledge", figure="tls_p99_ms", other="plain_p99_ms",
        unit=MILLISECONDS, judged=Judged.SHARE_OF_OTHER, must=1.5, aim=1.2, less=True,
    ),
    Target(
        title="the same, p50", work="acknowledge", figure="tls_p50_ms", other="plain_p50_ms",
        unit=MILLISECONDS, judged=Judged.SHARE_OF_OTHER, must=None, aim=None, less=True,
    ),
    _at_most("10,000 connections with TLS and SCRAM: up in", "crowd", "up_s", SECONDS, 60.0, 30.0),
    Target(
        title="the same: RSS, against plain text", work="crowd", figure="rss_mb", other="plain_rss_mb",
        unit=MEGABYTES, judged=Judged.MORE_THAN_OTHER, must=400.0, aim=300.0, less=True,
    ),
    _at_most("the same: loop lag p99.9 meanwhile", "crowd", "lag_p999_ms", MILLISECONDS, 20.0, 10.0),
    Target(
        title="start to first answer, all doors closed", work="start", figure="on_s", other="off_s", unit=SECONDS,
        judged=Judged.MORE_THAN_OTHER, must=0.15, aim=0.05, less=True,
    ),
    Target(
        title="the same with 10,000 rules", work="start", figure="rules_s", other="off_s", unit=SECONDS,
        judged=Judged.MORE_THAN_OTHER, must=None, aim=None, less=True,
    ),
)  # fmt: skip

DETAIL_HEADINGS: Final = [
    "work", "broker", "CPU ms per 1,000", "broker CPU", "generator CPU", "others' CPU", "p50 ms", "p99 ms",
    "wall ratio", "instruction ratio",
]  # fmt: skip
_DETAILS: Final = (
    "cpu_ms_per_1000_messages", "broker_cpu_share", "generator_cpu_share", "others_cpu_share", "p50_ms", "p99_ms",
    "wall_ratio", "instruction_ratio",
)  # fmt: skip


def rows(figures: dict[str, Medians]) -> list[Row]:
    found = (target.row(figures) for target in TARGETS)
    return [row for row in found if row is not None]


def detail_rows(figures: dict[str, Medians]) -> list[Row]:
    """What the load cost both sides, by work and broker."""
    return [
        [work, broker, *(f"{one[key]:,.2f}" if key in one else "–" for key in _DETAILS)]
        for broker, works in figures.items()
        for work, one in works.items()
        if any(key in one for key in _DETAILS)
    ]


def missed(figures: dict[str, Medians]) -> list[str]:
    """The titles of the rows that are missed."""
    return [row[0] for row in rows(figures) if row[-1] == MISSED]
