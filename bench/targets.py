"""Targets: relative to Apache Kafka in the same run, and in absolute figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.spread import Figures

Medians = dict[str, Figures]
"""Figures by the name of the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    name: str
    scale: float = 1.0
    digits: int = 0

    def text(self, value: float | None) -> str:
        return "–" if value is None else f"{value * self.scale:,.{self.digits}f} {self.name}".strip()


MILLION_A_SECOND = Unit(name="M msg/s", scale=1e-6, digits=2)
MESSAGES_A_SECOND = Unit(name="msg/s")
REQUESTS_A_SECOND = Unit(name="req/s")
MILLISECONDS = Unit(name="ms", digits=2)
SECONDS = Unit(name="s", digits=2)
GIGABYTES_A_SECOND = Unit(name="GB/s", scale=1e-9, digits=2)
MEGABYTES = Unit(name="MB")
COUNT = Unit(name="")
SHARE = Unit(name="×", digits=2)
TRANSACTIONS_A_SECOND = Unit(name="tx/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One row. `must` and `aim` are shares of Kafka's figure; more is better unless `less` is set."""

    title: str
    work: str
    figure: str
    unit: Unit
    must: float
    aim: float
    less: bool = False

    def value(self, medians: Medians) -> float | None:
        return medians.get(self.work, {}).get(self.figure)

    def reached(self, ratio: float, wanted: float) -> bool:
        return ratio <= wanted if self.less else ratio >= wanted


def _less(title: str, work: str, figure: str, unit: Unit, must: float, aim: float) -> Target:
    return Target(title=title, work=work, figure=figure, unit=unit, must=must, aim=aim, less=True)


def _more(title: str, work: str, figure: str, unit: Unit, must: float, aim: float) -> Target:
    return Target(title=title, work=work, figure=figure, unit=unit, must=must, aim=aim)


RATIOS = (
    _more("produce, 1000 × 100 B a batch, 5 in flight", "produce_batches", "messages_per_s", MILLION_A_SECOND, 1.5, 3),
    _more("produce, one message a request, 5 in flight", "produce_single", "requests_per_s", REQUESTS_A_SECOND, 3, 8),
    _less("ack, 1 in flight: p50", "acknowledge", "p50_ms", MILLISECONDS, 1, 0.5),
    _less("ack, 1 in flight: p99", "acknowledge", "p99_ms", MILLISECONDS, 0.5, 0.2),
    _less("end to end, a waiting fetch: p50", "end_to_end", "p50_ms", MILLISECONDS, 1, 0.5),
    _less("end to end, a waiting fetch: p99", "end_to_end", "p99_ms", MILLISECONDS, 0.5, 0.2),
    _more("fetch, 8 MiB a request", "fetch", "bytes_per_s", GIGABYTES_A_SECOND, 1, 1.5),
    _less("start to first answer", "start", "seconds", SECONDS, 0.3, 0.1),
    _less("RSS idle", "memory_idle", "rss_mb", MEGABYTES, 0.25, 0.15),
    _less("RSS after the load above", "memory_loaded", "rss_mb", MEGABYTES, 0.25, 0.15),
    _more("produce to 1,000 partitions at once", "partitions", "requests_per_s", REQUESTS_A_SECOND, 1, 3),
    _more("the same, 250 of them a request", "partitions_wide", "requests_per_s", REQUESTS_A_SECOND, 1, 3),
    _less("one transaction at a time, begin to commit: p50", "transaction_alone", "p50_ms", MILLISECONDS, 1, 0.5),
    *(
        _more(
            f"transactions of 16 producers, messages in each: {count}",
            f"transactions_{count}",
            "transactions_per_s",
            TRANSACTIONS_A_SECOND,
            1,
            3,
        )
        for count in (1, 10, 100)
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A row that Penstock must reach by itself, whatever Kafka does."""

    title: str
    work: str
    figure: str
    unit: Unit
    wanted: str
    holds: Callable[[float], bool]

    def value(self, medians: Medians) -> float | None:
        return medians.get(self.work, {}).get(self.figure)


def _limit(title: str, work: str, figure: str, unit: Unit, wanted: str, holds: Callable[[float], bool]) -> Limit:
    return Limit(title=title, work=work, figure=figure, unit=unit, wanted=wanted, holds=holds)


LIMITS = (
    _limit("10,000 connections: errors", "connections", "errors", COUNT, "0", lambda count: count == 0),
    _limit("10,000 connections: p99 of 100 busy", "connections", "p99_ms", MILLISECONDS, "< 50 ms", lambda ms: ms < 50),
    _limit(
        "peak", "produce_batches", "messages_per_s", MESSAGES_A_SECOND, "≥ 601,379 msg/s", lambda rate: rate >= 601_379
    ),
    _limit(
        "one connection, client batches of 16 KB",
        "produce_client",
        "messages_per_s",
        MESSAGES_A_SECOND,
        "≥ 50,000 msg/s",
        lambda rate: rate >= 50_000,
    ),
    _limit(
        "one connection, one message a request",
        "produce_single",
        "messages_per_s",
        MESSAGES_A_SECOND,
        "≥ 50,000 msg/s",
        lambda rate: rate >= 50_000,
    ),
    _limit(
        "16 transactional producers against 16 idempotent ones",
        "transactions_share",
        "share",
        SHARE,
        "≥ 0.5 ×",
        lambda share: share >= 0.5,
    ),
    _limit(
        "a producer beside 1,000 open transactions against before",
        "transactions_open",
        "share",
        SHARE,
        "≥ 0.9 ×",
        lambda share: share >= 0.9,
    ),
    _limit("RSS idle", "memory_idle", "rss_mb", MEGABYTES, "< 256 MB", lambda size: size < 256),
)
