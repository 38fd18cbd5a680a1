"""Progress in one partition: acquired, released, done; deadlines, delivery counts and the position to be stored.

Holders are plain strings here: a cursor knows nothing of members and messages.
"""

from __future__ import annotations

import random

import pytest

from penstock.broker.progress.partition_cursor import PartitionCursor
from penstock.broker.progress.position import (
    COUNTED_MAX,
    Counted,
    Position,
    Range,
    decode_position,
    encode_position,
)

pytestmark = pytest.mark.feature("P-08", "P-09", "Q-05")

OLDEST_TEXT_BYTES_MAX = 32_767
"""The longest string of Kafka's older versions."""


def cursor_at(position: Position) -> tuple[PartitionCursor[str], dict[int, None]]:
    changed: dict[int, None] = {}
    return PartitionCursor(7, position, changed), changed


def release_all(cursor: PartitionCursor[str], now_ms: int) -> list[int]:
    """Release everything whose deadline has come."""
    released = []
    for acquisition in cursor.take_expired(now_ms):
        for offset in cursor.unanswered(acquisition):
            cursor.release(offset, lost=True)
            released.append(offset)
    return released


def again(cursor: PartitionCursor[str], offset: int, holder: str, deadline_ms: int) -> int:
    message = cursor.get(offset)
    assert message is not None
    return cursor.acquire_one(offset, message, holder, deadline_ms)


def test_new_messages_are_acquired_in_their_order_and_done_in_any() -> None:
    cursor, changed = cursor_at(Position(10))
    cursor.acquire([10, 11, 13], "a", 100)  # 12 does not exist
    cursor.acquire_shared([14, 15, 16], {"b": [14, 16], "a": [15]}, 200)
    assert (cursor.committed, cursor.next_offset) == (10, 17)
    assert cursor.held_among("a", cursor.within(0, 99)) == [10, 11, 13, 15]
    assert not changed  # being sent for the first time is not worth a write
    assert cursor.acknowledge("a", cursor.within(11, 13)) == ([11, 13], 2, [])
    assert [*changed] == [7]
    assert cursor.position() == Position(10, (Range(11, 13),))
    assert cursor.acknowledge("a", cursor.within(10, 10)) == ([10], 1, [])
    assert cursor.position() == Position(14)
    cursor.acknowledge("b", cursor.within(14, 16))
    assert cursor.position() == Position(15, (Range(16, 16),))


def test_an_answer_for_messages_of_another_holder_counts_for_nothing() -> None:
    cursor, _ = cursor_at(Position(0))
    cursor.acquire([0, 1], "a", 100)
    assert cursor.acknowledge("b", cursor.within(0, 1)) == ([], 0, [])
    assert cursor.committed == 0


def test_a_late_answer_counts_and_tells_who_has_the_message_now() -> None:
    cursor, _ = cursor_at(Position(0))
    cursor.acquire([0, 1, 2], "a", 100)
    assert release_all(cursor, 100) == [0, 1, 2]
    assert again(cursor, 0, "b", 300) == 2
    assert cursor.acknowledge("a", cursor.within(0, 1)) == ([0, 1], 0, ["b"])
    assert cursor.committed == 2
    assert cursor.is_available(2)


def test_deadlines_are_those_of_unanswered_messages() -> None:
    cursor, _ = cursor_at(Position(0))
    assert cursor.next_deadline_ms() is None
    cursor.acquire([0], "a", 100)
    cursor.acquire([1, 2], "b", 150)
    cursor.acquire([3], "a", 170)
    assert cursor.next_deadline_ms() == 100
    cursor.acknowledge("a", cursor.within(0, 0))
    assert cursor.next_deadline_ms() == 150
    cursor.acknowledge("b", cursor.within(1, 1))
    assert release_all(cursor, 149) == []
    assert release_all(cursor, 160) == [2]
    assert cursor.next_deadline_ms() == 170
    assert [one.offsets for one in cursor.held_by("a")] == [[3]]


def test_releases_keep_the_delivery_count_and_count_what_was_lost() -> None:
    cursor, changed = cursor_at(Position(0))
    cursor.acquire([0], "a", 100)
    message = cursor.release(0)
    assert (message.count, message.losses, message.previous) == (1, 0, ("a",))
    assert again(cursor, 0, "b", 200) == 2
    message = cursor.release(0, lost=True)
    assert (message.count, message.losses, message.previous) == (2, 1, ("a", "b"))
    assert [*changed] == [7]
    assert cursor.position() == Position(0, (), (Counted(0, 0, 2),))


def test_an_archived_message_is_done() -> None:
    cursor, changed = cursor_at(Position(0))
    cursor.acquire([0, 1], "a", 100)
    cursor.release(0)
    changed.clear()
    cursor.archive(0)
    assert cursor.committed == 1
    assert [*changed] == [7]


def test_a_position_that_is_set_forwards_ends_what_lies_below() -> None:
    cursor, _ = cursor_at(Position(0))
    cursor.acquire([0, 1, 2], "a", 100)
    ended = list(cursor.move_to(2))
    assert [(offset, one.holder) for offset, one in ended] == [(0, "a"), (1, "a")]
    assert (cursor.committed, cursor.next_offset, cursor.resets) == (2, 3, 0)
    assert list(cursor.move_to(10)) != []
    assert (cursor.committed, cursor.next_offset) == (10, 10)
    assert cursor.next_deadline_ms() is None


def test_a_position_that_is_set_backwards_starts_again() -> None:
    cursor, changed = cursor_at(Position(5, (Range(7, 8),), (Counted(5, 6, 3),)))
    cursor.acquire([5, 6], "a", 100)
    ended = list(cursor.move_to(2))
    assert [offset for offset, _ in ended] == [5, 6]
    assert (cursor.committed, cursor.next_offset, cursor.resets) == (2, 2, 1)
    assert cursor.next_deadline_ms() is None
    assert not cursor.ahead
    assert [*changed] == [7]


def test_deliveries_of_before_a_restart_count() -> None:
    cursor, _ = cursor_at(Position(0, (), (Counted(1, 1, 4),)))
    for offset, count in ((0, 1), (1, 5)):
        message = cursor.first_delivery(offset)
        assert message.losses == count - 1
        assert cursor.acquire_one(offset, message, "a", 100) == count
    assert cursor.next_offset == 2
    assert not cursor.ahead


def test_many_answered_acquisitions_behind_an_unanswered_one_are_forgotten() -> None:
    cursor, _ = cursor_at(Position(0))
    for offset in range(10_000):
        cursor.acquire([offset], "a", 100 + offset)
        if offset:
            cursor.acknowledge("a", cursor.within(offset, offset))
    assert len(cursor._acquired) < 200
    assert cursor.next_deadline_ms() == 100


def test_however_many_counts_there_are_the_text_stays_short_and_keeps_the_highest() -> None:
    cursor, _ = cursor_at(Position(0))
    for offset in range(0, 1_000_000, 100):  # nothing lies next to another
        count = 9 if offset % 5000 == 0 else 1 + offset // 100 % 2
        cursor.skip_to(offset)
        cursor.acquire([offset], "a", 0)
        for _ in range(count - 1):
            cursor.release(offset)
            again(cursor, offset, "a", 0)
        cursor.release(offset)
    position = cursor.position()
    assert len(position.counted) == COUNTED_MAX
    assert {offset for offset, _, count in position.counted if count == 9} == set(range(0, 1_000_000, 5000))
    bounded = position._replace(done=position.done[:1_500])  # with more of them nothing new is sent
    assert len(encode_position(bounded, 1 << 40)) < OLDEST_TEXT_BYTES_MAX
    assert decode_position(0, encode_position(position, 0)) == (position, 0)


def test_a_message_that_was_sent_once_and_is_not_answered_has_no_count() -> None:
    cursor, _ = cursor_at(Position(0))
    cursor.acquire([0, 1], "a", 100)
    cursor.acquire([2], "a", 100)
    cursor.release(2)
    cursor.acknowledge("a", cursor.within(2, 2))
    assert cursor.position() == Position(0, (Range(2, 2),))


def test_counts_of_messages_that_were_not_reached_yet_are_kept() -> None:
    stored = Position(5, (Range(6, 6),), (Counted(5, 5, 3), Counted(7, 9, 2)))
    cursor, _ = cursor_at(stored)
    assert cursor.position() == stored
    assert [cursor.ahead.count(offset) for offset in range(5, 11)] == [3, 0, 2, 2, 2, 0]
    cursor.skip_to(8)
    assert cursor.position() == Position(8, (), (Counted(8, 9, 2),))
    cursor.skip_to(10)
    assert cursor.position() == Position(10)


def test_a_stop_within_a_range_that_is_done_is_stored_as_one_range() -> None:
    """Otherwise the text had ranges that overlap, was read as damaged, and everything done came again."""
    cursor, _ = cursor_at(Position(0, (Range(1, 9), Range(20, 29))))
    cursor.acquire([0], "a", 100)
    for offset in (1, 5, 10):
        cursor.skip_to(offset)
        assert cursor.position() == Position(0, (Range(1, 9), Range(20, 29)))
    cursor.skip_to(25)
    position = cursor.position()
    assert position == Position(0, (Range(1, 29),))
    assert decode_position(0, encode_position(position, 3)) == (position, 3)
    cursor.acknowledge("a", cursor.within(0, 0))
    assert cursor.position() == Position(25, (Range(25, 29),))


@pytest.mark.parametrize("seed", range(30))
def test_a_restart_from_any_position_goes_on_with_what_is_not_done(seed: int) -> None:
    """Random steps; at some of them the cursor is made again from its position, as after a crash."""
    chance = random.Random(seed)
    cursor, _ = cursor_at(Position(0))
    done: set[int] = set()
    deliveries: dict[int, int] = {}
    for now_ms in range(400):
        step = chance.random()
        if step < 0.4:
            offset = cursor.next_offset
            if cursor.ahead.is_done(offset):
                cursor.skip_to(offset + 1)
            else:
                message = cursor.first_delivery(offset)
                deliveries[offset] = cursor.acquire_one(offset, message, "a", now_ms + 50)
        elif step < 0.7 and deliveries:
            offset = chance.choice(list(deliveries))
            done.update(cursor.acknowledge("a", cursor.within(offset, offset))[0])
        elif step < 0.8:
            release_all(cursor, now_ms)
        elif step < 0.9:
            for offset in [one for one in deliveries if cursor.is_available(one)]:
                deliveries[offset] = again(cursor, offset, "a", now_ms + 50)
        else:
            held = cursor.held_among("a", cursor.within(0, 1000))
            for offset in held:
                cursor.release(offset, lost=True)
            text = encode_position(cursor.position(), 0)
            cursor, _ = cursor_at(decode_position(cursor.committed, text)[0])
        undone = [offset for offset in range(cursor.next_offset) if offset not in done]
        assert cursor.committed == (undone[0] if undone else cursor.next_offset)
        for offset in undone:
            message_now = cursor.get(offset)
            assert message_now is not None
            assert message_now.count == deliveries[offset]
    assert done
