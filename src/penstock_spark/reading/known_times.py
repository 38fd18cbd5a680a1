"""What one query has learned of the times in a partition, kept for the next one.

A filter with an upper bound of time leaves everything behind it to be fetched, since a late record may be an old one
(`planning.least_times`). So the process that plans all queries of an application looks through those records once, and
from then on only through what is new. That takes no longer than fetching them in tasks, but only a part of a second is
spent on it for each query: a large topic is known after several.

A log may be another one under the same names: restored from a back-up, copied, or a mirror that began anew. So what is
known counts only if the last batch that was seen is still there.

Only a process that serves one query after another remembers, by `keep`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.fetches import fetch_everything
from penstock.model.batch import iter_headers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.least_times import LeastTimes, Seen
from penstock_spark.reading.planning.ranges import OffsetRange

logger = logging.getLogger(__name__)

SCAN_S_MAX: Final = 0.5
"""For all ranges of a query together."""
STEP: Final = 200_000
"""Offsets before those that are known are looked through so many at a time, or as many as there was time for."""
OFFSETS_MIN: Final = 10_000
"""A shorter range is fetched as quickly as it is looked through."""
MOST: Final = 4096
"""Partitions that are remembered."""


class _Key(NamedTuple):
    address: Address
    topic_id: str
    partition: int
    leader_epoch: int
    committed: bool


@dataclass
class _Known:
    times: LeastTimes
    last: Seen | None = None
    step: int = STEP


class KnownTimes:
    """Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[_Key, _Known] = {}  # those that were used last at the end

    def shortened(
        self, cluster: Cluster, ranges: Sequence[OffsetRange], ids: Mapping[str, str], *, committed: bool
    ) -> list[OffsetRange]:
        """The ranges without the records behind their upper bound of time, as far as that is known."""
        deadline = time.monotonic() + SCAN_S_MAX
        return [self._one(cluster, each, ids, committed, deadline) for each in ranges]

    def _one(
        self, cluster: Cluster, each: OffsetRange, ids: Mapping[str, str], committed: bool, deadline: float
    ) -> OffsetRange:
        until_ms, epoch = each.within.until_ms, cluster.leader_epoch(each.place)
        if until_ms is None or each.is_open or each.size < OFFSETS_MIN or each.topic not in ids:
            return each
        if epoch is None or epoch < 0:
            return each
        try:
            address = cluster.leader(each.place).address
            key = _Key(address, ids[each.topic], each.partition, epoch, committed)
            times = self._covering(cluster, key, each, deadline)
        except (BrokerUnavailable, KafkaError) as error:  # which tasks will meet, and tell
            logger.debug("%s: nothing is known of its times: %s", each.place, error)
            return each
        if times is None:
            return each
        return replace(each, end=max(each.first, min(each.end, times.end_of(until_ms))))

    def _covering(self, cluster: Cluster, key: _Key, each: OffsetRange, deadline: float) -> LeastTimes | None:
        """The times of all records of a range; None if they are not known."""
        known = self._take(key)
        if known is not None and not _is_there(cluster, each.place, known.last):
            known = None
        if known is None or known.times.end < each.first or each.end < known.times.first:
            known = _Known(LeastTimes(each.first))
        try:
            while each.first < known.times.first:
                before = _Known(LeastTimes(max(each.first, known.times.first - known.step)))
                _look_through(cluster, each.place, before, known.times.first, key.committed, deadline)
                if before.times.end < known.times.first:
                    done = before.times.end - before.times.first
                    known.step = done or known.step
                    return None
                before.times.go_on(known.times)
                known.times = before.times
                known.last = known.last or before.last
            _look_through(cluster, each.place, known, each.end, key.committed, deadline)
            return known.times if known.times.end >= each.end else None
        finally:
            self._remember(key, known)

    def _take(self, key: _Key) -> _Known | None:
        """What is known; nobody else has it meanwhile, so others would look for themselves."""
        with self._lock:
            return self._known.pop(key, None)

    def _remember(self, key: _Key, known: _Known) -> None:
        with self._lock:
            self._known[key] = known
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]


def _is_there(cluster: Cluster, place: TopicPartition, seen: Seen | None) -> bool:
    """Whether a batch is still where it was."""
    if seen is None:
        return False
    fetched = fetch_everything(cluster, place, seen.base_offset, max_bytes=1)
    if fetched.error != ErrorCode.NONE:
        return False
    found = next(iter_headers(fetched.records), None)
    return found is not None and Seen(found[1].base_offset, found[1].crc) == seen


def _look_through(
    cluster: Cluster, place: TopicPartition, known: _Known, end: int, committed: bool, deadline: float
) -> None:
    """Go on from what is known to before `end`, as far as the time allows and nothing is damaged."""
    times = known.times
    if times.end >= end or time.monotonic() > deadline:
        return
    from penstock_spark.reading.records.time_scan import least_times  # compiled loops, which few plans need

    for found in least_times(cluster, place, times.end, end, committed=committed):
        behind = min(found.end, end)  # the last batch may go on
        if found.least_ms is not None:
            times.add(behind, found.least_ms)
            known.last = found.batch
        times.end = behind
        if time.monotonic() > deadline:
            return


_kept: KnownTimes | None = None


def keep() -> None:
    """Have this process remember times from query to query."""
    global _kept
    _kept = KnownTimes()


def shortened(
    cluster: Cluster, ranges: Sequence[OffsetRange], ids: Mapping[str, str], *, committed: bool
) -> Sequence[OffsetRange]:
    """The ranges without the records behind their upper bound of time, if this process remembers any."""
    return ranges if _kept is None else _kept.shortened(cluster, ranges, ids, committed=committed)
