"""Ranges of offsets, narrowed to the spans that a filter leaves.

The broker knows the first record of a time or later, so all records before it are older, and a range begins there. It
does not know the last record before a time: clients give the times, and a late record may be an old one. So a bound
above does not shorten a range here; the batches behind it are left out when they are read (`records/batches.py`), or
not fetched at all where their times are known (`known_times`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.client.cluster import Cluster
from penstock.client.offsets import LATEST, NOT_FOUND, list_offsets
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.ranges import OffsetRange
from penstock_spark.reading.planning.spans import EVERYTHING, Span, joined

Spans = Mapping[TopicPartition, Sequence[Span]]


def narrowed(cluster: Cluster, ranges: Sequence[OffsetRange], spans: Spans) -> list[OffsetRange]:
    """The parts of ranges that are in one of the spans of their partition, each once."""
    starts = _first_of_times(cluster, spans)
    return [part for each in ranges for part in parts(each, spans[each.place], starts)]


def _first_of_times(cluster: Cluster, spans: Spans) -> dict[tuple[TopicPartition, int], int]:
    """The first offset at or after each time that a span begins with; asked for one time of each partition at once.

    It is that of any record, committed or not: what a transaction holds back has to be waited for. Where there is none,
    it is the end of the log: a range that was to go on behind it lacks records, which its task will tell.
    """
    wanted = {place: sorted({_time(span) for span in found} - {-1}) for place, found in spans.items()}
    result: dict[tuple[TopicPartition, int], int] = {}
    for number in range(max(map(len, wanted.values()), default=0)):
        times = {place: all_times[number] for place, all_times in wanted.items() if number < len(all_times)}
        found = list_offsets(cluster, times, committed=False)
        missing = [place for place, offset in found.items() if offset == NOT_FOUND]
        if missing:
            found |= list_offsets(cluster, dict.fromkeys(missing, LATEST), committed=False)
        result |= {(place, times[place]): offset for place, offset in found.items()}
    return result


def _time(span: Span) -> int:
    """The time at which a span begins; -1 for none: ListOffsets has another meaning for times before 1970."""
    return -1 if span.since_ms is None or span.since_ms < 0 else span.since_ms


def parts(
    whole: OffsetRange, spans: Sequence[Span], starts: Mapping[tuple[TopicPartition, int], int]
) -> Iterator[OffsetRange]:
    """The parts of a range in some spans; `starts` has the first offset at or after each time."""
    resolved = [replace(each, first=max(each.first, starts.get((whole.place, _time(each)), 0))) for each in spans]
    for span in joined(span for span in resolved if not span.is_empty):
        part = part_of(whole, span)
        if part.size or part.is_open:
            yield part


def part_of(whole: OffsetRange, span: Span) -> OffsetRange:
    """What a range has of a span; open as long as the span may have records that are written later."""
    if span == EVERYTHING:
        return whole
    is_open = whole.is_open and (span.end is None or span.end > whole.end)
    end = whole.end if span.end is None else min(whole.end, span.end)
    first = max(whole.first, min(span.first, whole.end))
    return replace(whole, first=first, end=max(first, end), is_open=is_open, within=span)
