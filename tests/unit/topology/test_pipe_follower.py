"""Reactions of a child to odd answers."""

from __future__ import annotations

import pytest

from penstock.model.batch import stamp
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.topology.pipe.follower import (
    BadAnswer,
    Diverge,
    Followed,
    Lose,
    PipeFollower,
    Place,
    Restart,
    Store,
    Trim,
)
from penstock.topology.pipe.wire import LastBatch, PullAnswer, Pulled, Status

pytestmark = pytest.mark.feature("P-12")

TOPIC = bytes(16)
PLACE = Place(TOPIC, 0)


def following(offset: int = 0, **more: object) -> PipeFollower:
    follower = PipeFollower(wait_ms=5_000, bytes_max=1_000, batches_max=10, pause_ms=300)
    follower.follow(Followed(PLACE, offset, 0, **more))  # type: ignore[arg-type]
    return follower


def batch(offset: int, count: int = 1, epoch: int = 0) -> bytes:
    data = build_batch([NewRecord(None, b"v")] * count, timestamp=1)
    stamp(data, offset, epoch)
    return bytes(data)


def answer(records: bytes = b"", *, status: Status = Status.OK, start: int = 0, end: int = 10) -> PullAnswer:
    return PullAnswer(1, [Pulled(*PLACE, status, start, end, records, "why")])


def test_batches_in_a_row_are_stored_and_asked_for_no_more() -> None:
    follower = following(last=LastBatch(0, 0, 0))
    (step,) = follower.digest(answer(batch(0, 2) + batch(2, 1, epoch=4)), 0)
    assert isinstance(step, Store)
    assert [header.base_offset for _, header in step.batches] == [0, 2]
    (wanted,) = follower.request(0).partitions
    assert (wanted.offset, wanted.epoch, wanted.last) == (3, 4, None)
    assert follower.lag_messages == 7


def test_holes_are_no_damage() -> None:
    (step,) = following().digest(answer(batch(3) + batch(8)), 0)
    assert isinstance(step, Store)


@pytest.mark.parametrize(
    "records",
    [
        batch(0)[:-1],
        batch(0) + b"more",
        batch(1) + batch(0),
        batch(0) + batch(0),
        batch(0)[:-1] + b"\xff",
        batch(0)[:16] + b"\x01" + batch(0)[17:],
    ],
)
def test_what_cannot_be_believed_changes_nothing(records: bytes) -> None:
    follower = following()
    with pytest.raises(BadAnswer):
        follower.digest(answer(records), 0)
    assert follower.partitions[PLACE].offset == 0


def test_a_partition_nobody_asked_for() -> None:
    follower = following()
    with pytest.raises(BadAnswer):
        follower.digest(PullAnswer(1, [Pulled(TOPIC, 5, Status.OK, 0, 0)]), 0)


def test_the_statuses() -> None:
    assert following(5).digest(answer(status=Status.DIVERGED), 0) == [Diverge(PLACE, "why")]
    assert following(5).digest(answer(status=Status.UNKNOWN), 0) == [Lose(PLACE)]
    assert following(5).digest(answer(status=Status.BELOW_START, start=8), 0) == [Restart(PLACE, 8, 5)]
    assert following(0).digest(answer(status=Status.BELOW_START, start=8), 0) == [Restart(PLACE, 8, -1)]
    assert following(5).digest(answer(start=3), 0) == [Trim(PLACE, 3)]


def test_one_that_cannot_be_had_now_is_left_alone_for_a_while() -> None:
    follower = following(5)
    follower.digest(answer(status=Status.BEHIND), 1_000)
    request = follower.request(1_100)
    assert (request.partitions, request.wait_ms) == ([], 200)
    assert follower.request(1_300).partitions


def test_lag_in_time_begins_when_it_is_seen_and_ends_at_the_parents_end() -> None:
    follower = following()
    follower.digest(answer(batch(0), end=2), 100)
    follower.digest(answer(batch(1), end=3), 200)
    assert follower.behind_since() == 100
    follower.digest(answer(batch(2), end=3), 300)
    assert follower.behind_since() is None


def test_a_partition_that_the_parent_cannot_read_counts_as_behind_until_it_can() -> None:
    follower = following(5)
    follower.digest(answer(status=Status.UNAVAILABLE), 1_000)
    follower.digest(answer(status=Status.UNAVAILABLE), 2_000)
    assert follower.behind_since() == 1_000
    follower.digest(answer(end=5), 3_000)
    assert follower.behind_since() is None
    follower.digest(answer(status=Status.BEHIND), 4_000)
    assert follower.behind_since() is None  # this one has more than its parent


def test_who_got_something_goes_to_the_back() -> None:
    follower = following()
    other = Place(TOPIC, 1)
    follower.follow(Followed(other, 0, 0))
    follower.digest(answer(batch(0)), 0)
    assert [wanted.partition for wanted in follower.request(0).partitions] == [1, 0]
