"""Offsets of open transactions: what counts when they end, in whatever order that happens."""

from __future__ import annotations

import pytest

from penstock.broker.groups.offsets.pending import PendingOffset, PendingOffsets
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange

pytestmark = pytest.mark.feature("K-07")


def change(offset: int, partition: int = 0) -> OffsetChange:
    return OffsetChange("t", partition, CommittedOffset(offset, -1, "", 0))


def pending(*items: tuple[int, int, int]) -> PendingOffsets:
    """Producer id, place in the log, offset."""
    table = PendingOffsets()
    for producer_id, log_offset, offset in items:
        table.add(producer_id, PendingOffset(log_offset, "g", change(offset)))
    return table


def test_they_count_when_the_transaction_commits() -> None:
    table = pending((1, 10, 5))
    assert table.is_pending("g", "t", 0)
    assert not table.is_pending("g", "t", 1)
    assert not table.is_pending("other", "t", 0)
    assert table.has_group("g")
    assert table.end(1, commit=True) == {"g": [change(5)]}
    assert not table.is_pending("g", "t", 0)
    assert not table.has_group("g")
    assert table.end(1, commit=True) == {}


def test_they_are_forgotten_when_it_aborts() -> None:
    table = pending((1, 10, 5))
    assert table.end(1, commit=False) == {}
    assert not table.is_pending("g", "t", 0)


def test_the_later_one_in_the_log_wins_whatever_ends_first() -> None:
    table = pending((1, 10, 5), (2, 11, 6))
    assert table.end(2, commit=True) == {"g": [change(6)]}
    assert table.is_pending("g", "t", 0)
    assert table.end(1, commit=True) == {}


def test_a_plain_commit_that_came_later_stays() -> None:
    table = pending((1, 10, 5))
    table.overtaken("g", [change(9)], 12)
    assert table.end(1, commit=True) == {}


def test_a_plain_commit_that_came_before_is_replaced() -> None:
    table = PendingOffsets()
    table.overtaken("g", [change(9)], 8)
    table.add(1, PendingOffset(10, "g", change(5)))
    assert table.end(1, commit=True) == {"g": [change(5)]}


def test_the_last_of_several_in_one_transaction() -> None:
    table = pending((1, 10, 5), (1, 11, 6))
    assert table.end(1, commit=True) == {"g": [change(6)]}


def test_a_tombstone_takes_away_what_is_pending() -> None:
    table = pending((1, 10, 5), (2, 11, 6))
    table.add(1, PendingOffset(12, "g", change(7, partition=1)))
    table.overtaken("g", [OffsetChange("t", 0, None)], 13)
    assert not table.is_pending("g", "t", 0)
    assert list(table.places("g")) == [("t", 1)]
    table.add(2, PendingOffset(14, "g", change(8)))
    assert table.end(1, commit=True) == {"g": [change(7, partition=1)]}
    assert table.end(2, commit=True) == {"g": [change(8)]}
    assert table.group_ids == ()
