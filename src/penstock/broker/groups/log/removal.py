"""Removal of offsets by tombstones in portions: a group may have more than there is room for in a batch, or in a turn.

Between two portions other requests are served, and the node may die. A portion says what goes when it is written, from
what is stored then: an offset that was committed meanwhile stays. A group that is deleted takes no commits and no
members from the first portion on, and its own tombstone is the last: after a crash, or a write that is refused, it is
there with the rest of its offsets, and can be deleted or expires again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from penstock.broker.coordination.coordinator_log import CoordinatorState
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.pending import Place
from penstock.broker.groups.offsets.records import OffsetChange, removals
from penstock.model.errors import ErrorCode
from penstock.model.limits import KIB, TOPIC_NAME_LENGTH_MAX
from penstock.runtime.turns import Steps

PORTION_RECORDS: Final = 200
"""About a turn: each record takes the loop 10 µs."""
PORTION_BYTES: Final = 256 * KIB
"""A quarter of max.message.bytes, which `__consumer_offsets` never has below its default."""
RECORD_BYTES: Final = 64
"""Of a tombstone, besides the names in its key, at most."""


def portion_count(group_id: str) -> int:
    """Offsets in a portion; few for a group of an earlier version, whose id may have 32 KiB."""
    record_bytes = len(group_id.encode()) + TOPIC_NAME_LENGTH_MAX + RECORD_BYTES
    return min(PORTION_RECORDS, PORTION_BYTES // record_bytes)


def portions(group_id: str, places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    count = portion_count(group_id)
    return (places[first : first + count] for first in range(0, len(places), count))


def first_portion(shard: Shard, group_id: str) -> list[OffsetChange] | None:
    """Removals of the first offsets that a group has, None if one portion has room for the whole group."""
    count = portion_count(group_id)
    places = list(islice(shard.offsets.places(group_id), count + 1))
    return None if len(places) <= count else removals(places[:count])


def remove_due(shard: Shard, group_id: str, places: Sequence[Place], is_due: Callable[[Place], bool]) -> Steps[int]:
    """Remove the offsets at those of `places` that are due when their portion is written. Returns their number.

    A write that is refused is not repeated.
    """
    count = 0
    for some in portions(group_id, places):
        if shard.state is not CoordinatorState.ACTIVE:
            break
        is_stored = shard.offsets.is_stored
        due = removals(place for place in some if is_stored(group_id, *place) and is_due(place))
        if due:
            shard.change_offsets(group_id, due, _ignore)
            count += len(due)
        yield
    return count


def _ignore(code: ErrorCode) -> None:
    """No request waits for the outcome."""
