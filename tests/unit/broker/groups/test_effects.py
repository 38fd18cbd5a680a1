"""Effects of groups: values that can be compared and replayed, stored as one batch whatever their kinds of records."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from penstock.broker.coordination.placement import partition_of
from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import (
    Assignment,
    JoinRequest,
    LeaveAnswer,
    Replacement,
    SyncAnswer,
    SyncRequest,
)
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.limits import GroupLimits
from penstock.broker.groups.classic.records import CLASSIC_GROUP, GroupKey, GroupValue
from penstock.broker.groups.effects import Effects, Event, Now, Refused, Reply, Stored
from penstock.broker.groups.group_state import GroupType
from penstock.broker.groups.log.record_table import decode_key
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.records import OFFSET_COMMIT, CommittedOffset, OffsetChange, OffsetKey
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode
from penstock.model.topic_name import CONSUMER_OFFSETS
from tests.support.group_world import World, run

pytestmark = pytest.mark.feature("K-05")

SUBSCRIPTION = bytes.fromhex("000100000001000174ffffffff00000000")
CODE = ErrorCode.UNKNOWN_SERVER_ERROR


def join_request(member_id: str = "", instance_id: str | None = None) -> JoinRequest:
    return JoinRequest(
        member_id=member_id,
        instance_id=instance_id,
        client_id="c",
        client_host="/h",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=(("range", SUBSCRIPTION),),
        needs_member_id=False,
        can_skip_assignment=True,
    )


def sync_request(member_id: str, generation: int, **assignments: bytes) -> SyncRequest:
    by_id = {name.replace("_", "-"): value for name, value in assignments.items()}
    return SyncRequest(who=Identity(member_id, None), generation=generation, assignments=by_id)


def at(time_ms: int) -> Now:
    return Now(time_ms, 1_000_000 + time_ms)


Input = Callable[[ClassicGroup], Effects]
RUN: list[Input] = [
    lambda group: group.join(join_request(), "join a", at(0)),
    lambda group: group.advance(at(0)),
    lambda group: group.sync(sync_request("c-1", 1, c_1=b"all"), "sync a", at(5)),
    lambda group: group.resume(Refused(Assignment(1, {"c-1": b"all"}), CODE), at(10)),
    lambda group: group.join(join_request(instance_id="one"), "join b", at(20)),
    lambda group: group.join(join_request("c-1"), "join a again", at(30)),
    lambda group: group.sync(sync_request("c-1", 2, c_1=b"x", one_2=b"y"), "sync a again", at(40)),
    lambda group: group.sync(sync_request("one-2", 2), "sync b", at(50)),
    lambda group: group.resume(Stored(Assignment(2, {"c-1": b"x", "one-2": b"y"})), at(60)),
    lambda group: group.join(join_request(instance_id="one"), "b is back", at(70)),
    lambda group: group.resume(Stored(Replacement("one-3", "c-1", True)), at(80)),
    lambda group: group.leave([Identity("c-1", None), Identity("", "one")], "leave", at(90)),
]


def replayed() -> tuple[ClassicGroup, list[Effects]]:
    numbers = itertools.count(1)
    limits = GroupLimits(
        initial_rebalance_delay_ms=0, members_max=10, new_member_id=lambda name: f"{name}-{next(numbers)}"
    )
    group = ClassicGroup("g", limits, at(0))
    return group, [give(group) for give in RUN]


def group_record(value: GroupValue) -> NewRecord:
    return CLASSIC_GROUP.record(GroupKey("g"), value)


def test_the_same_inputs_have_equal_effects() -> None:
    (first, effects), (second, again) = replayed(), replayed()
    assert first is not second
    assert effects == again
    assert first.describe() == second.describe()
    assert repr(effects) == repr(again)


def test_effects_are_plain_values() -> None:
    """No closure, no reference to the group: everything that a run wants is in its effects."""
    _, effects = replayed()
    stored, refused, done = effects[2], effects[3], effects[8]
    assert stored.replies == []
    assert stored.then == [Assignment(1, {"c-1": b"all"})]
    assert [record.key for record in stored.records] == [b"\x00\x02\x00\x01g"]
    assert refused == Effects(replies=[Reply("sync a", SyncAnswer(error=CODE))])
    assert {reply.ticket for reply in done.replies} == {"sync a again", "sync b"}
    assert effects[9].then == [Replacement("one-3", "c-1", True)]
    assert effects[11] == Effects(
        records=[group_record(GroupValue("consumer", 3, None, None, 1_000_090, ()))],
        replies=[Reply("leave", LeaveAnswer((ErrorCode.NONE, ErrorCode.NONE)))],
        summary="generation 3 with 0 members",
    )


# --- one batch for records of several kinds --------------------------------------------------------------------------


@dataclass(frozen=True)
class Noted(Event):
    """An event that only this test knows."""

    number: int


class RecordingGroup(ClassicGroup):
    """Writes down the outcomes that it is given."""

    def __init__(self, group_id: str, now: Now) -> None:
        limits = GroupLimits(initial_rebalance_delay_ms=0, members_max=1, new_member_id=str)
        super().__init__(group_id, limits, now)
        self.outcomes: list[Stored | Refused] = []

    def resume(self, outcome: Stored | Refused, now: Now) -> Effects:
        self.outcomes.append(outcome)
        return Effects()


VALUE = GroupValue("consumer", 7, None, None, 5, ())


async def recording(world: World) -> tuple[Shard, RecordingGroup]:
    await world.create_topic("t")
    shard = await world.groups.shards.to_write("g")
    group = shard.groups["g"] = RecordingGroup("g", world.groups.shards.now())
    return shard, group


def two_kinds(world: World, ticket: object) -> Effects:
    topic = world.topics.get("t")
    assert topic is not None
    committed = CommittedOffset(42, -1, "", world.clock.now_ms(), topic_id=topic.topic_id)
    return Effects(
        records=[group_record(VALUE)],
        offsets=[OffsetChange("t", 0, committed)],
        replies=[Reply(ticket, "done")],
        then=[Noted(1), Noted(2)],
    )


def test_records_of_two_kinds_are_one_batch() -> None:
    async def test() -> World:
        async with World() as world:
            shard, group = await recording(world)
            world.engine.hold_flushes()
            ticket: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            shard.apply(group, two_kinds(world, ticket))
            log = world.log_of(CONSUMER_OFFSETS, partition_of("g", 5))
            assert len(log.batches) == 1
            found = [decode_key(record.key) for record in log.records() if record.key is not None]
            kinds = [(row[0].kind, row[1]) for row in found if row is not None]
            assert kinds == [(OFFSET_COMMIT, OffsetKey("g", "t", 0)), (CLASSIC_GROUP, GroupKey("g"))]
            assert (ticket.done(), group.outcomes, world.groups.committed("g")) == (False, [], {})
            world.flush()
            assert ticket.result() == "done"
            assert group.outcomes == [Stored(Noted(1)), Stored(Noted(2))]
            assert world.groups.committed("g")["t"][0].offset == 42
        return world

    async def later(world: World) -> None:
        async with world:
            group = world.groups.find("g")
            assert group is not None
            assert (group.describe().generation, group.protocol_type) == (7, "consumer")
            assert world.groups.committed("g")["t"][0].offset == 42

    run(later(run(test()).restarted()))


def test_a_refused_batch_leaves_nothing_of_either_kind() -> None:
    async def test() -> World:
        async with World() as world:
            shard, group = await recording(world)
            log = world.log_of(CONSUMER_OFFSETS, partition_of("g", 5))
            log.refusal = ErrorCode.MESSAGE_TOO_LARGE
            ticket: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            shard.apply(group, two_kinds(world, ticket))
            assert ticket.result() == "done"
            assert group.outcomes == [Refused(Noted(1), CODE), Refused(Noted(2), CODE)]
            assert log.batches == []
            assert world.groups.committed("g") == {}
            assert not shard.offsets.has_group("g")
            log.refusal = None
        return world

    async def later(world: World) -> None:
        async with world:
            assert world.groups.find("g") is None

    run(later(run(test()).restarted()))


def test_a_lost_batch_takes_both_kinds_with_it() -> None:
    async def test() -> World:
        async with World() as world:
            shard, group = await recording(world)
            world.engine.hold_flushes()
            ticket: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            shard.apply(group, two_kinds(world, ticket))
            world.fail_flush(CONSUMER_OFFSETS, partition_of("g", 5))
            assert group.outcomes == [Refused(Noted(number), ErrorCode.COORDINATOR_NOT_AVAILABLE) for number in (1, 2)]
        return world

    async def later(world: World) -> None:
        async with world:
            assert world.groups.find("g") is None
            assert world.groups.committed("g") == {}

    run(later(run(test()).restarted()))


def test_groups_are_made_by_type() -> None:
    async def test() -> None:
        async with World() as world:
            shard = await world.groups.shards.to_write("g")
            group = world.groups.shards.create(shard, "g", GroupType.CLASSIC)
            assert isinstance(group, ClassicGroup)
            assert world.groups.find("g") is group

    run(test())
