"""The subscription core under random lives: members come and go, answer or not, the broker crashes, time passes."""

from __future__ import annotations

import random

import pytest

from penstock.broker.delivery.core.rules import Rules
from penstock.protocol.push.data import Verdict
from tests.unit.broker.delivery.core_world import World

pytestmark = pytest.mark.feature("P-08", "P-09", "Q-02")

RULES = Rules(ack_timeout_ms=1000, redelivery_delay_ms=50, deliveries_max=4, done_ranges_max=30)


def live(seed: int, steps: int, *, by_key: bool) -> World:
    chance = random.Random(seed)
    world = World(RULES, partitions=chance.choice([1, 3]), by_key=by_key)
    for _ in range(steps):
        members = list(world.core.members.values())
        held = [(place, member) for place, member in world.at.items()]
        event = chance.random()
        if event < 0.35:
            key = chance.choice([None, b"a", b"b", b"c", b"d"])
            world.publish(chance.randrange(len(world.logs)), key)
        elif event < 0.42 and len(members) < 4:
            world.join(chance.randint(1, 5))
        elif event < 0.46 and members:
            world.leave(chance.choice(members))
        elif event < 0.8 and held:
            place, member = chance.choice(held)
            world.answer(member, place, Verdict.NOT_DONE if chance.random() < 0.2 else Verdict.DONE)
        elif event < 0.9:
            world.wait(chance.choice([1, 60, 400, 1100]))
        elif event < 0.92:
            world.answer_late()
        elif event < 0.93:
            partition = chance.randrange(len(world.logs))
            world.commit(partition, chance.randint(0, world.core.cursors[partition].next_offset))
        elif event < 0.97:
            world.store()
        elif event < 0.975:
            world.can_store_letters = not world.can_store_letters
        else:
            world.restart()
    return world


def finish(world: World) -> None:
    """A faithful member does what is left."""
    world.can_store_letters = True
    for member in list(world.core.members.values()):
        world.leave(member)
    faithful = world.join(10)
    for _ in range(10_000):
        if all(
            cursor.committed >= len(log) for cursor, log in zip(world.core.cursors.values(), world.logs, strict=True)
        ):
            return
        for place in list(world.at):
            world.answer(faithful, place)
        world.wait(20)
    raise AssertionError("messages are left that nobody gets")


@pytest.mark.parametrize("by_key", [False, True], ids=["in turn", "by key"])
@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_lost_and_nothing_acknowledged_comes_again(seed: int, by_key: bool) -> None:
    world = live(seed, 400, by_key=by_key)
    finish(world)
    everything = {(partition, offset) for partition, log in enumerate(world.logs) for offset in range(len(log))}
    assert world.done == everything
    skipped = everything - {place for _, place in world.received}
    assert skipped <= world.committed_by_hand


@pytest.mark.parametrize("by_key", [False, True], ids=["in turn", "by key"])
def test_a_poison_message_dies_whatever_crashes_in_between(by_key: bool) -> None:
    """A message kills every member that gets it; the broker is killed each time as soon as that is stored."""
    world = World(RULES, by_key=by_key)
    for key in (b"good", b"bad", b"good"):
        world.publish(0, key)
    for deliveries in range(1, RULES.deliveries_max + 1):
        member = world.join(10)
        assert world.deliveries[0, 1] == deliveries
        for place in [(0, 0), (0, 2)]:
            if place in world.at:
                world.answer(member, place)
        world.leave(member)
        world.store()
        world.restart()
    world.join(10)
    assert world.dead == {(0, 1)}
    assert world.core.cursors[0].committed == 3


@pytest.mark.parametrize("restarts", [False, True], ids=["one life", "restarts"])
@pytest.mark.parametrize("by_key", [False, True], ids=["in turn", "by key"])
@pytest.mark.parametrize("members", [1, 3])
def test_a_message_that_kills_members_takes_no_others_with_it(members: int, by_key: bool, restarts: bool) -> None:
    """Everything that is in flight beside it is lost with its member each time."""
    world = World(RULES._replace(deliveries_max=10, losses_max=3), by_key=by_key)
    poison = (0, 7)
    for number in range(60):
        world.publish(0, b"%d" % (number % 10))
    for _ in range(1000):
        while len(world.core.members) < members:
            world.join(20)
        if world.core.cursors[0].committed == 60:
            break
        for member in list(world.core.members.values()):
            mine = sorted(place for place, holder in world.at.items() if holder is member)
            for place in mine:
                if place == poison:
                    world.leave(member)
                    break
                world.answer(member, place)
        if restarts:
            world.store()
            world.restart()
    assert world.dead == {poison}
    assert world.core.cursors[0].committed == 60


def test_what_members_give_back_makes_nobody_careful() -> None:
    world = World(RULES._replace(deliveries_max=10))
    for _ in range(5):
        world.publish(0)
    member = world.join(5)
    for _ in range(9):
        world.answer(member, (0, 0), Verdict.NOT_DONE)
        world.wait(RULES.redelivery_delay_ms)
    assert member.credit == 5
    assert member.in_flight == 5


def test_members_get_their_credit_back_when_the_suspect_is_done() -> None:
    world = World(RULES._replace(deliveries_max=10))
    for _ in range(10):
        world.publish(0)
    for _ in range(3):
        world.leave(world.join(5))
    member = world.join(5)
    for done in range(10):
        assert member.in_flight == (1 if done < 5 else 5 if done == 5 else 10 - done)
        world.answer(member, min(world.at))
    assert world.core.cursors[0].committed == 10


def test_a_member_that_is_stuck_loses_its_keys_to_another() -> None:
    """Otherwise its messages would become dead letters, although another member could have handled them."""
    world = World(RULES, by_key=True)
    stuck, keys = world.join(2), [b"a", b"b", b"c", b"d", b"e", b"f"]
    for key in keys * 3:
        world.publish(0, key)
    willing = world.join(100)
    for _ in range(100):
        for place in [place for place, holder in world.at.items() if holder is willing]:
            world.answer(willing, place)
        world.wait(RULES.ack_timeout_ms // 2)
    assert world.core.cursors[0].committed == 18
    assert not world.dead
    assert stuck.in_flight == 0


def test_a_dead_message_that_cannot_be_stored_is_sent_to_nobody() -> None:
    world = World(RULES)
    world.can_store_letters = False
    world.publish(0)
    world.publish(0)
    member = world.join(10)
    for _ in range(RULES.deliveries_max):
        world.answer(member, (0, 0), Verdict.NOT_DONE)
        world.wait(RULES.redelivery_delay_ms)
    world.answer(member, (0, 1))
    assert (0, 0) not in world.at
    world.store()
    world.restart()
    world.join(10)
    world.wait(10_000)
    assert world.deliveries[0, 0] == RULES.deliveries_max
    assert world.core.cursors[0].committed == 0
    world.can_store_letters = True
    world.pump()
    assert world.core.cursors[0].committed == 2


@pytest.mark.slow
@pytest.mark.parametrize("by_key", [False, True], ids=["in turn", "by key"])
def test_the_same_for_many_more_lives(by_key: bool) -> None:
    for seed in range(1000, 1200):
        world = live(seed, 300, by_key=by_key)
        finish(world)
