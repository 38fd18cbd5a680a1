"""The core of the consumer framework: order, retries and giving up, with time as an input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.consumers.lane import GiveUp, Lane, Pause, Work
from penstock.consumers.policy import RetryPolicy
from tests.unit.consumers.messages import message

POLICY = RetryPolicy(attempts=3, initial=0.1, factor=2, max=10)


def work(lane: Lane, now: float = 0.0) -> list[int]:
    found = lane.next(now)
    assert isinstance(found, Work), found
    return [one.sequence_number for one in found.messages]


def test_pauses_grow_to_their_limit() -> None:
    policy = RetryPolicy(attempts=10, initial=0.1, factor=2, max=1)
    assert [round(policy.pause_s(failures), 3) for failures in range(1, 7)] == [0.1, 0.2, 0.4, 0.8, 1, 1]


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"initial": -1}, {"factor": 0.5}, {"max": -1}])
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


def test_nothing_overtakes_a_message_that_waits_for_its_next_attempt() -> None:
    lane = Lane(POLICY)
    lane.add([message(0), message(1), message(2)])
    assert work(lane) == [0, 1, 2]
    assert [done.sequence_number for done in lane.succeeded(1)] == [0]
    assert lane.failed(10.0) == Pause(10.1)
    lane.add([message(3)])
    assert lane.next(10.05) == Pause(10.1)
    assert work(lane, 10.1) == [1]
    again = lane.failed(10.1)
    assert isinstance(again, Pause)
    assert again.until == pytest.approx(10.3)
    assert work(lane, 10.4) == [1]
    decision = lane.failed(10.4)
    assert isinstance(decision, GiveUp)
    assert (decision.message.sequence_number, decision.attempts) == (1, 3)
    lane.dropped()
    assert work(lane, 10.4) == [2, 3]


def test_a_final_failure_is_not_tried_again() -> None:
    lane = Lane(POLICY)
    lane.add([message(0)])
    work(lane)
    assert isinstance(lane.failed(0.0, final=True), GiveUp)


def test_an_error_handler_can_ask_for_all_attempts_again() -> None:
    lane = Lane(RetryPolicy(attempts=1, initial=2))
    lane.add([message(0)])
    work(lane)
    assert isinstance(lane.failed(0.0), GiveUp)
    lane.again(0.0)
    assert lane.next(1.0) == Pause(2.0)
    assert work(lane, 2.0) == [0]


def test_a_batch_is_tried_again_as_it_was_and_then_taken_apart() -> None:
    lane = Lane(RetryPolicy(attempts=2, initial=1), batch=3)
    lane.add([message(0), message(1)])
    assert work(lane) == [0, 1]
    assert lane.failed(0.0, size=2) == Pause(1.0)
    lane.add([message(2)])
    assert work(lane, 1.0) == [0, 1]
    assert lane.failed(1.0, size=2) == Pause(1.0)
    assert work(lane, 1.0) == [0]
    lane.succeeded(1)
    assert work(lane, 1.0) == [1]
    assert isinstance(lane.failed(1.0), GiveUp)
    lane.dropped()
    assert work(lane, 1.0) == [2]


def test_what_is_in_hand_is_not_taken_twice() -> None:
    lane = Lane(POLICY)
    lane.add([message(0), message(1)])
    lane.add([message(0), message(1), message(2)])
    assert work(lane) == [0, 1, 2]


def test_what_comes_again_late_gets_its_place_but_not_before_what_is_at_work() -> None:
    lane = Lane(POLICY, run=2)
    lane.add([message(5), message(6), message(8)])
    assert work(lane) == [5, 6]
    lane.add([message(7), message(3)])
    lane.succeeded(2)
    assert work(lane) == [3, 7]


def test_what_came_on_another_connection_is_forgotten() -> None:
    lane = Lane(POLICY)
    first, later = message(0), message(1)
    later.generation = 2
    lane.add([first, later])
    lane.keep(1)
    assert lane.holds(later) is False
    lane.add([message(0), message(1)])
    assert lane.holds(first)
    lane.keep(2)
    assert not lane.holds(first)
    assert len(lane) == 0
    lane.add([message(0)])
    assert not lane.holds(first)
    assert work(lane) == [0]
    lane.keep(None)
    assert lane.next(0.0) is None


@settings(max_examples=200, deadline=None)
@given(
    batch=st.none() | st.integers(1, 4),
    attempts=st.integers(1, 4),
    bad=st.sets(st.integers(0, 29)),
    arrivals=st.lists(st.integers(0, 6), min_size=1, max_size=12),
)
def test_every_message_is_done_or_given_up_once_and_in_order(
    batch: int | None, attempts: int, bad: set[int], arrivals: list[int]
) -> None:
    """Messages in `bad` always fail; the others never do. Time only passes where the lane says so."""
    lane = Lane(RetryPolicy(attempts=attempts, initial=1), batch=batch, run=3)
    waiting, ended, calls, now = list(range(30)), [], dict.fromkeys(range(30), 0), 0.0
    arrivals = [*arrivals, 30]
    while waiting or len(lane):
        if arrivals:
            count = arrivals.pop(0)
            lane.add([message(offset) for offset in waiting[:count]])
            del waiting[:count]
        step = lane.next(now)
        if isinstance(step, Pause):
            now = step.until
        elif isinstance(step, Work):
            offsets = [one.sequence_number for one in step.messages]
            for group in [offsets] if batch else [[offset] for offset in offsets]:
                for offset in group:
                    calls[offset] += 1
                if bad.isdisjoint(group):
                    ended += [one.sequence_number for one in lane.succeeded(len(group))]
                    continue
                decision = lane.failed(now, size=len(group))
                if isinstance(decision, GiveUp):
                    assert decision.message.sequence_number in bad
                    ended.append(lane.dropped().sequence_number)
                break
    assert ended == list(range(30))
    for offset in range(30):
        if batch is None:
            assert calls[offset] == (attempts if offset in bad else 1)
        else:
            assert calls[offset] <= attempts + 1
