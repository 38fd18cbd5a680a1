"""An answer with many ranges: it counts as its ranges one by one do, and costs one walk over what is in flight."""

from __future__ import annotations

import random
import time

import pytest

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.rules import Rules
from penstock.model.limits import ACK_RANGES_MAX
from penstock.protocol.push.data import AckRange, Verdict
from penstock.protocol.push.frames import Frame, FrameType, MalformedFrame
from penstock.protocol.push.messages import decode
from tests.unit.broker.delivery.core_world import World

RULES = Rules(done_ranges_max=100_000)


def world(messages: int, rooms: list[int]) -> tuple[World, list[Member]]:
    found = World(RULES)
    found.logs[0] = [None] * messages
    return found, [found.join(credit) for credit in rooms]


@pytest.mark.parametrize("seed", range(20))
def test_they_count_as_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    borders = sorted(dice.sample(range(300), 60))
    pairs = list(zip(borders[::2], borders[1::2], strict=True))
    ranges = [AckRange(0, first, last, dice.choice(list(Verdict))) for first, last in pairs]
    dice.shuffle(ranges)
    states = []
    for answers in ([ranges], [[one] for one in ranges]):
        here, members = world(300, [100, 150, 50])
        for answer in answers:
            here.core.acknowledge(members[1], answer, 0)
        cursor = here.core.cursors[0]
        states.append((cursor.unfinished(), [one.room for one in members], dict(here.core.take_positions(1))))
    assert states[0] == states[1]


def test_an_offset_that_is_named_twice_counts_once() -> None:
    here, (member,) = world(20, [20])
    here.core.acknowledge(member, [AckRange(0, 0, 9)] * 20, 0)
    assert here.core.cursors[0].unfinished() == list(range(10, 20))
    assert member.room == 10


@pytest.mark.parametrize("verdict", Verdict)
def test_ranges_over_messages_of_another_member_cost_one_walk(verdict: Verdict) -> None:
    """One walk a range, as it was, takes seconds, in which nobody else is served."""
    here, (_, other) = world(20_000, [20_000, 1])
    began = time.thread_time()
    here.core.acknowledge(other, [AckRange(0, 0, 19_999, verdict)] * ACK_RANGES_MAX, 0)
    assert time.thread_time() - began < 0.3
    assert len(here.core.cursors[0].unfinished()) == 20_000


def test_what_is_in_flight_has_a_bound() -> None:
    here = World(Rules(unfinished_max=50))
    here.logs[0] = [None] * 1000
    members = [here.join(20) for _ in range(10)]
    cursor = here.core.cursors[0]
    assert cursor.unfinished_count == 50
    assert cursor.next_offset == 50
    for member, (_, place) in zip([members[0]] * 20, here.received[:20], strict=True):
        here.answer(member, place)
    assert cursor.unfinished_count == 50
    assert cursor.next_offset == 70


def test_a_frame_has_no_more_ranges_than_that() -> None:
    one = b"\x00\x00\x00\x00" + bytes(16) + b"\x00"
    for count in (ACK_RANGES_MAX, ACK_RANGES_MAX + 1, 32_767):
        payload = b"\x01\x00\x01s" + count.to_bytes(2, "big") + one * count
        frame = Frame(FrameType.ACK, 1, payload)
        if count <= ACK_RANGES_MAX:
            decode(frame)
            continue
        with pytest.raises(MalformedFrame, match="ranges, more than 1000"):
            decode(frame)
