"""The subscription core under random lives: members come and go, answer or not, the broker crashes, time passes."""

from __future__ import annotations

import random

import pytest

from penstock.broker.subscriptions.rules import Rules
from penstock.protocol.push.data import Verdict
from tests.unit.push.core_world import World

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
            world.commit(partition, chance.randint(0, world.core.progress[partition].next_offset))
        elif event < 0.97:
            world.store()
        else:
            world.restart()
    return world


def finish(world: World) -> None:
    """A faithful member does what is left."""
    for member in list(world.core.members.values()):
        world.leave(member)
    faithful = world.join(10)
    for _ in range(10_000):
        if all(
            progress.committed >= len(log)
            for progress, log in zip(world.core.progress.values(), world.logs, strict=True)
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


@pytest.mark.slow
@pytest.mark.parametrize("by_key", [False, True], ids=["in turn", "by key"])
def test_the_same_for_many_more_lives(by_key: bool) -> None:
    for seed in range(1000, 1200):
        world = live(seed, 300, by_key=by_key)
        finish(world)
