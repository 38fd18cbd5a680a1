"""When a consumer's iteration ends for want of records."""

from penstock.sdk.idle_clock import IdleClock


class World:
    def __init__(self, timeout_s: float | None = 3.0, pause_s_max: float = 60.0) -> None:
        self.now = 100.0
        self.clock = IdleClock(timeout_s, pause_s_max, lambda: self.now)

    def after(self, seconds: float) -> "World":
        self.now += seconds
        return self


def test_no_timeout_never_ends() -> None:
    assert World(timeout_s=None).after(1e6).clock.remaining_s(100.0) is None


def test_the_clock_stands_still_before_the_assignment() -> None:
    world = World().after(10.0)
    assert world.clock.remaining_s(asked_at=100.0) == 3.0
    world.clock.assigned()
    assert world.after(1.0).clock.remaining_s(asked_at=100.0) == 2.0
    assert world.after(2.0).clock.remaining_s(asked_at=100.0) == 0.0


def test_time_counts_from_the_last_record_once_there_is_an_assignment() -> None:
    world = World()
    world.clock.assigned()
    assert world.after(10.0).clock.remaining_s(asked_at=109.0) == 2.0


def test_a_rebalance_stops_the_clock_and_its_end_sets_it_back() -> None:
    world = World()
    world.clock.assigned()
    world.after(2.0).clock.unassigned()
    assert world.after(20.0).clock.remaining_s(asked_at=100.0) == 3.0
    world.clock.assigned()
    assert world.after(2.5).clock.remaining_s(asked_at=100.0) == 0.5


def test_a_group_that_never_assigns_is_given_up() -> None:
    world = World(pause_s_max=60.0)
    assert world.after(61.0).clock.remaining_s(asked_at=100.0) == 2.0
    assert world.after(2.0).clock.remaining_s(asked_at=100.0) == 0.0
