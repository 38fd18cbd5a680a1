"""The room of frames under way: any order of steps ends, within the bound, and leaves nothing behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.net.connection.frame_pace import FramePace
from penstock.net.frame_room import LOOKED_AT, FrameRoom


class Frame:
    """A frame under way that doubles what it holds, as those of connections do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held_bytes = 0
        self.waits = False

    def room_granted(self) -> None:
        assert self.waits, "granted twice"
        self.waits = False

    def grow(self, room: FrameRoom) -> None:
        assert not self.waits
        self.waits = not room.grow(self, min(self.size, max(1, 2 * self.held_bytes)))

    @property
    def is_complete(self) -> bool:
        return self.held_bytes == self.size


Choices = st.lists(st.integers(0, 1_000_000), max_size=60)


@given(st.integers(1, 500), st.integers(0, 50), st.lists(st.integers(1, 100), min_size=1, max_size=12), Choices)
def test_any_order_of_steps_ends_within_the_bound(
    bytes_max: int, smallest_reserve: int, sizes: list[int], choices: list[int]
) -> None:
    """Frames begin, go on, are complete, decoded, and broken off in any order. However they stand then, all of the rest
    completes."""
    room = FrameRoom(bytes_max, smallest_reserve)
    to_come, under_way, complete = [Frame(size) for size in sizes], list[Frame](), list[Frame]()

    def checked() -> None:
        assert room.held_bytes == sum(frame.held_bytes for frame in (*under_way, *complete))
        assert room.waiting_count == sum(frame.waits for frame in under_way)
        assert room.is_crowded == (room.waiting_count > 0)
        assert room.held_bytes <= max(bytes_max, *sizes)

    def go_on(frame: Frame) -> None:
        frame.grow(room)
        if frame.is_complete:
            under_way.remove(frame)
            if frame.size % 2:
                complete.append(frame)
                room.complete(frame)
            else:
                room.end(frame)
        checked()

    def done_with(frame: Frame) -> None:
        complete.remove(frame)
        room.release(frame)
        checked()

    for choice in choices:
        kind, number = choice % 8, choice // 8
        able = [frame for frame in under_way if not frame.waits]
        if kind < 3 and to_come:
            under_way.append(to_come.pop())
            go_on(under_way[-1])
        elif kind < 7 and able:
            go_on(able[number % len(able)])
        elif number % 2 and complete:
            done_with(complete[number % len(complete)])
        elif under_way:
            broken_off = under_way.pop(number % len(under_way))
            room.end(broken_off)
            broken_off.waits = False
            checked()
    while under_way:
        able = [frame for frame in under_way if not frame.waits]
        assert able or complete, "frames wait for each other"
        if able:
            go_on(able[-1])
        else:
            done_with(complete[-1])
    while complete:
        done_with(complete[-1])
    assert (room.held_bytes, room.is_crowded) == (0, False)


def test_an_announced_size_leaves_the_room_to_others() -> None:
    room = FrameRoom(500)
    announced = [Frame(100) for _ in range(6)]
    for frame in announced:
        frame.grow(room)
    others = [Frame(20) for _ in range(15)]
    for frame in others:
        while not frame.is_complete:
            frame.grow(room)
    assert not any(frame.waits for frame in (*announced, *others))


def test_the_oldest_goes_on_whatever_its_size_and_the_others_follow_in_turn() -> None:
    room = FrameRoom(100)
    huge, second, third = Frame(1_000), Frame(60), Frame(60)
    for frame in (huge, second, third):
        frame.grow(room)
    assert (huge.waits, second.waits, third.waits) == (False, True, True)
    while not huge.is_complete:
        huge.grow(room)
    assert room.held_bytes == 1_000
    room.end(huge)
    assert (second.waits, third.waits) == (False, False), "room for the largest frame is left beside one byte of each"
    while not second.is_complete:
        second.grow(room)
    third.grow(room)
    assert third.held_bytes == 2 or third.waits
    room.end(second)
    room.end(third)
    assert room.held_bytes == 0


def test_frames_behind_the_first_that_wait_are_granted_in_the_end() -> None:
    """A release looks at some of those that wait; the others get theirs with the next ones."""
    room = FrameRoom(10, 10)
    frames = [Frame(8) for _ in range(3 * LOOKED_AT)]
    for frame in frames:
        frame.grow(room)
    finished = 0
    while frames:
        frame = next(each for each in frames if not each.waits)
        while not frame.is_complete:
            frame.grow(room)
        frames.remove(frame)
        room.end(frame)
        finished += 1
    assert (finished, room.held_bytes) == (3 * LOOKED_AT, 0)


# --- pace -------------------------------------------------------------------------------------------------------------


def test_a_frame_at_the_least_rate_goes_on_for_ever() -> None:
    pace = FramePace(0, 100.0, 30.0)
    assert not any(pace.is_too_slow(1_000 * n, 100.0 + n, 1_000, 30.0) for n in range(1, 10_000))


def test_a_byte_now_and_then_ends_within_the_spare_time_however_fast_the_beginning_was() -> None:
    pace = FramePace(0, 0.0, 30.0)
    filled = 500_000_000
    assert not pace.is_too_slow(filled, 1.0, 65_536, 30.0)
    times = [moment for moment in range(11, 100, 10) if pace.is_too_slow(filled + moment, float(moment), 65_536, 30.0)]
    assert times[0] == 31


def test_time_in_which_nothing_was_read_does_not_count() -> None:
    """The reading clock stands still meanwhile."""
    pace = FramePace(0, 5.0, 30.0)
    assert not any(pace.is_too_slow(0, 5.0, 65_536, 30.0) for _ in range(1_000))
