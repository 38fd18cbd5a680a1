"""The metrics page, in pieces.

One line per partition and one per group and partition are tens of thousands of lines on a large node. They are
written here directly as text, a few hundred at a time, so that the caller can let the event loop run in between;
the rest comes from the registry, family by family. Text format 0.0.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from penstock.observability.labels import quoted

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ROWS_PER_PIECE = 400
SAMPLES_PER_PIECE = 120


class LogSample(NamedTuple):
    """One partition at the moment of the scrape."""

    topic: str
    partition: int
    log_start: int
    high_watermark: int
    size_bytes: int
    segments: int


class LagSample(NamedTuple):
    """One partition of one group. A lag of None: the end of the partition is not known."""

    group: str
    topic: str
    partition: int
    committed: int
    lag: int | None


class ClientSample(NamedTuple):
    """One series that a client has pushed. `labels` is text, without braces."""

    family: str
    labels: str
    is_counter: bool
    value: int | float


LOG_FAMILIES = (
    ("penstock_log_size_bytes", "Bytes of a partition's log"),
    ("penstock_log_segments", "Segments of a partition's log"),
    ("penstock_log_start_offset", "First offset that can be read"),
    ("penstock_log_high_watermark", "First offset that cannot be read yet"),
)
LAG_FAMILIES = (
    ("penstock_consumer_lag", "Records between a group's committed offset and the end"),
    ("penstock_consumer_committed_offset", "Offset a group has committed"),
)


def pages(
    registry: CollectorRegistry,
    logs: Iterable[LogSample],
    lags: Iterable[LagSample],
    clients: Iterable[ClientSample] = (),
) -> Iterator[bytes]:
    """The whole page in pieces of about a millisecond; after each one the caller may let others run.

    `logs`, `lags` and `clients` are read piece by piece, too, so what they compute is spread the same way.
    """
    for family in registry.collect():
        yield from _family(family)
    yield from _table(LOG_FAMILIES, map(_log_row, logs))
    yield from _table(LAG_FAMILIES, map(_lag_row, lags))
    yield from _pushed(iter(clients))


def _family(family: Metric) -> Iterator[bytes]:
    """A family in slices of its samples: the histogram of all APIs alone has hundreds. Only the first has a head."""
    samples = family.samples
    for start in range(0, max(1, len(samples)), SAMPLES_PER_PIECE):
        family.samples = samples[start : start + SAMPLES_PER_PIECE]
        text = generate_latest(_Single(family))
        yield text if start == 0 else text.split(b"\n", 2)[2]


class _Single(Collector):
    """One family, for `generate_latest`, which wants something to collect from."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def _table(families: Sequence[tuple[str, str]], rows: Iterator[tuple[str, Sequence[int | None]]]) -> Iterator[bytes]:
    """All families over the same rows. A family's lines must be together, so its text is kept until the end."""
    texts: list[list[bytes]] = [[] for _ in families]
    while piece := list(islice(rows, ROWS_PER_PIECE)):
        for column, (name, _) in enumerate(families):
            lines = [f"{name}{labels} {values[column]}\n" for labels, values in piece if values[column] is not None]
            texts[column].append("".join(lines).encode())
        yield b""
    for (name, help_text), text in zip(families, texts, strict=True):
        yield f"# HELP {name} {help_text}\n# TYPE {name} gauge\n".encode()
        yield from text


def _log_row(row: LogSample) -> tuple[str, Sequence[int | None]]:
    labels = f'{{topic="{quoted(row.topic)}",partition="{row.partition}"}}'
    return labels, (row.size_bytes, row.segments, row.log_start, row.high_watermark)


def _lag_row(row: LagSample) -> tuple[str, Sequence[int | None]]:
    labels = f'{{group="{quoted(row.group)}",topic="{quoted(row.topic)}",partition="{row.partition}"}}'
    return labels, (row.lag, row.committed)


def _pushed(samples: Iterator[ClientSample]) -> Iterator[bytes]:
    """Families that only clients know. Where they disagree on the type of one it has none."""
    texts: dict[str, list[str]] = {}
    types: dict[str, str] = {}
    while piece := list(islice(samples, ROWS_PER_PIECE)):
        for family, labels, is_counter, value in piece:
            texts.setdefault(family, []).append(f"{family}{{{labels}}} {_number(value)}\n")
            kind = "counter" if is_counter else "gauge"
            if types.setdefault(family, kind) != kind:
                types[family] = "untyped"
        yield b""
    for family, lines in texts.items():
        yield f"# HELP {family} Pushed by clients\n# TYPE {family} {types[family]}\n".encode()
        for start in range(0, len(lines), ROWS_PER_PIECE):
            yield "".join(lines[start : start + ROWS_PER_PIECE]).encode("utf-8", "replace")


def _number(value: int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(value)
