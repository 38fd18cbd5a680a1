"""The part of a partition that a filter leaves: offsets and times between bounds.

A span may hold more than the filter wants, never less: what is read is filtered again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST = 64
"""More spans of a partition are joined: each is a task, and costs a lookup."""


@dataclass(frozen=True)
class Span:
    """Offsets from `first` to before `end`, times from `since_ms` to `until_ms`, both included; None: no bound."""

    first: int = 0
    end: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_empty(self) -> bool:
        if self.since_ms is not None and self.until_ms is not None and self.since_ms > self.until_ms:
            return True
        return self.end is not None and self.first >= self.end

    @property
    def has_times(self) -> bool:
        return self.since_ms is not None or self.until_ms is not None

    def both(self, other: Span) -> Span:
        """What is in this span and in the other."""
        return Span(
            max(self.first, other.first),
            _least(self.end, other.end),
            _most(self.since_ms, other.since_ms),
            _least(self.until_ms, other.until_ms),
        )

    def around(self, other: Span) -> Span:
        """The smallest span with this one and the other."""
        return Span(
            min(self.first, other.first),
            None if self.end is None or other.end is None else max(self.end, other.end),
            None if self.since_ms is None or other.since_ms is None else min(self.since_ms, other.since_ms),
            None if self.until_ms is None or other.until_ms is None else max(self.until_ms, other.until_ms),
        )


EVERYTHING = Span()


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans without common offsets, in order, that have all that the given ones have."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda each: each.first):
        if found and _meet(found[-1], span):
            found[-1] = found[-1].around(span)
        else:
            found.append(span)
    return found


def _meet(one: Span, later: Span) -> bool:
    """Whether spans have common offsets, or are one without a gap and no times would be lost."""
    if one.end is None or later.first < one.end:
        return True
    return later.first == one.end and not (one.has_times or later.has_times)


def at_most(spans: Sequence[Span], count: int = MOST) -> list[Span]:
    """Join neighbours until there are not more than `count`; the closest first."""
    if len(spans) <= count:
        return list(spans)
    found = sorted(spans, key=lambda each: each.first)
    gaps = sorted(range(1, len(found)), key=lambda at: found[at].first - (found[at - 1].end or found[at].first))
    starts = set(gaps[len(found) - count :])
    result = [found[0]]
    for at, span in enumerate(found[1:], 1):
        if at in starts:
            result.append(span)
        else:
            result[-1] = result[-1].around(span)
    return result
