"""Groups with more offsets than a batch of tombstones has room for go in portions, and a crash may come between two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from penstock.broker.groups.claim import NO_MEMBER
from penstock.broker.groups.classic.records import CLASSIC_GROUP, GroupKey
from penstock.broker.groups.log.removal import PORTION_RECORDS, portion_count, remove_due
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange, offset_records
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.batch import read_header
from penstock.model.batch_builder import build_batch
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_ID_BYTES_MAX
from penstock.model.topic_name import CONSUMER_OFFSETS
from penstock.runtime.turns import STEPS_AT_ONCE, finish
from tests.support.group_requests import change, code_of, commit, committed, join, log_of
from tests.support.group_world import HandLog, World, run, settle

pytestmark = pytest.mark.feature("K-05", "K-08")

BATCH_BYTES_MAX = 1_048_588  # what `__consumer_offsets` takes
LONG = "g" * GROUP_ID_BYTES_MAX
MANY = 1_500
"""Offsets of a group with a long id whose tombstones are 1.6 MB."""
SOME = 3 * PORTION_RECORDS + 1
"""Offsets in four portions."""


async def filled(world: World, group: str, count: int) -> None:
    await world.create_topic("t", count)
    for first in range(0, count, 500):
        some = range(first, min(first + 500, count))
        await commit(world, group, *(change(world, 7, partition=index) for index in some))


def stored(world: World, group: str) -> int:
    return len(world.groups.committed(group).get("t", {}))


def tombstones(log: HandLog) -> list[bytes | None]:
    return [record.key for record in log.records() if record.value is None]


def is_last(log: HandLog, group: str) -> bool:
    """Whether the tombstone of the group is behind those of all its offsets."""
    return tombstones(log)[-1] == CLASSIC_GROUP.encode_key(GroupKey(group))


async def delete(world: World) -> None:
    await world.groups.delete_group(LONG)


async def delete_offsets(world: World) -> None:
    codes = await world.groups.delete_offsets(LONG, [("t", index) for index in range(MANY)])
    assert set(codes.values()) == {ErrorCode.NONE}


async def delete_topic(world: World) -> None:
    topic = world.topics.get("t")
    assert topic is not None
    await world.controller.topics.delete([topic.topic_id])
    await settle()


async def expire(world: World) -> None:
    await world.pass_time(60_000)
    await world.groups.shards.expiry.sweep()


@pytest.mark.parametrize("remove", [delete, delete_offsets, delete_topic, expire])
def test_each_batch_fits_into_the_log(remove: Callable[[World], Awaitable[None]]) -> None:
    async def test() -> World:
        async with World(offsets_retention_minutes=1) as world:
            await filled(world, LONG, MANY)
            log = log_of(world, LONG)
            before = len(log.batches)
            await remove(world)
            assert stored(world, LONG) == 0
            assert max(map(len, log.batches[before:])) < BATCH_BYTES_MAX
            assert (world.groups.find(LONG) is None) == (remove in (delete, expire))
        return world

    async def later(world: World) -> None:
        async with world:
            assert stored(world, LONG) == 0

    run(later(run(test()).restarted()))


def test_topics_that_were_deleted_before_the_start() -> None:
    async def test() -> World:
        async with World() as world:
            await filled(world, LONG, MANY)
            world.engine.hold_flushes()
            await delete_topic(world)
        return world

    async def later(world: World) -> None:
        world.engine.hold_flushes(False)
        before = len(log_of(world, LONG).batches)
        async with world:
            assert stored(world, LONG) == 0
            assert max(map(len, log_of(world, LONG).batches[before:])) < BATCH_BYTES_MAX

    run(later(run(test()).restarted()))


@pytest.mark.parametrize("flushes", range(5))
def test_after_a_crash_the_group_is_there_with_the_rest_or_all_of_it_is_gone(flushes: int) -> None:
    async def test() -> World:
        async with World() as world:
            await filled(world, "g", SOME)
            world.engine.hold_flushes()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            for _ in range(flushes):
                await settle()
                world.flush()
            await settle()
            assert deleting.done() == (flushes == 4)
            deleting.cancel()
        return world

    async def later(world: World) -> World:
        world.engine.hold_flushes(False)
        async with world:
            assert stored(world, "g") == max(0, SOME - flushes * PORTION_RECORDS)
            if flushes < 4:
                await world.groups.delete_group("g")
            assert world.groups.find("g") is None
            assert is_last(log_of(world, "g"), "g")
        return world

    async def at_last(world: World) -> None:
        async with world:
            assert (world.groups.find("g"), stored(world, "g")) == (None, 0)

    run(at_last(run(later(run(test()).restarted())).restarted()))


def test_a_group_that_is_being_deleted_takes_nothing() -> None:
    async def test() -> None:
        async with World() as world:
            await filled(world, "g", SOME)
            world.engine.hold_flushes()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            await settle()
            producer = ProducerIdentity(7, 0)
            refused: list[Callable[[], Awaitable[object]]] = [
                lambda: commit(world, "g", change(world, 9)),
                lambda: world.groups.commit_in_transaction("g", NO_MEMBER, [change(world, 9)], producer),
                lambda: join(world, "g"),
            ]
            for request in refused:
                with pytest.raises(KafkaError) as error:
                    await request()
                assert code_of(error) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(KafkaError) as held:
                world.groups.commit_held("g", [change(world, 9)], lambda code: None)
            assert code_of(held) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(KafkaError) as unknown:
                await world.groups.delete_group("g")
            assert code_of(unknown) is ErrorCode.GROUP_ID_NOT_FOUND
            with pytest.raises(KafkaError) as unknown:
                await world.groups.delete_offsets("g", [("t", 0)])
            assert code_of(unknown) is ErrorCode.GROUP_ID_NOT_FOUND
            await world.groups.shards.expiry.sweep()
            world.engine.hold_flushes(False)
            world.flush()
            await deleting
            assert (world.groups.find("g"), stored(world, "g")) == (None, 0)
            await commit(world, "g", change(world, 1))
            assert committed(world, "g") == 1

    run(test())


def test_a_portion_that_is_refused_leaves_a_group_that_can_be_deleted() -> None:
    async def test() -> None:
        async with World() as world:
            await filled(world, "g", SOME)
            world.engine.hold_flushes()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            await settle()
            log = log_of(world, "g")
            log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
            world.flush()
            with pytest.raises(KafkaError) as failed:
                await deleting
            assert code_of(failed) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            log.refusal = None
            world.engine.hold_flushes(False)
            assert stored(world, "g") == SOME - PORTION_RECORDS
            await commit(world, "g", change(world, 9))
            await world.groups.delete_group("g")
            assert (world.groups.find("g"), stored(world, "g")) == (None, 0)
            assert is_last(log, "g")

    run(test())


def test_a_log_that_fails_between_two_portions() -> None:
    async def test() -> World:
        async with World() as world:
            await filled(world, "g", SOME)
            world.engine.hold_flushes()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            await settle()
            world.fail_flush(CONSUMER_OFFSETS, log_of(world, "g").partition.partition)
            with pytest.raises(KafkaError) as failed:
                await deleting
            assert code_of(failed) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        return world

    async def later(world: World) -> None:
        world.engine.hold_flushes(False)
        async with world:
            assert stored(world, "g") == SOME
            await world.groups.delete_group("g")

    run(later(run(test()).restarted()))


def test_offsets_of_open_transactions_go_with_their_group() -> None:
    async def test() -> World:
        async with World() as world:
            await filled(world, "g", SOME)
            producer = ProducerIdentity(7, 0)
            pending = [change(world, 9, partition=index) for index in range(0, SOME, 2)]
            await world.groups.commit_in_transaction("g", NO_MEMBER, pending, producer)
            world.engine.hold_flushes()
            deleting = asyncio.create_task(world.groups.delete_group("g"))
            await settle()
            world.groups.end_transaction(log_of(world, "g").partition.partition, Marker(7, 0, 0, is_commit=True))
            world.engine.hold_flushes(False)
            world.flush()
            await deleting
            assert (world.groups.find("g"), stored(world, "g")) == (None, 0)
        return world

    async def later(world: World) -> None:
        async with world:
            assert (world.groups.find("g"), stored(world, "g")) == (None, 0)

    run(later(run(test()).restarted()))


def test_an_offset_that_is_committed_between_two_portions_stays() -> None:
    """As one that was about to expire, or is one of a topic that was made again."""

    async def test() -> None:
        async with World() as world:
            await filled(world, "g", SOME)
            shard = world.groups.shards.shard("g")
            assert shard is not None
            places = tuple(shard.offsets.places("g"))

            def is_old(place: tuple[str, int]) -> bool:
                return any(each.offset == 7 for each in shard.offsets.stored_at("g", place))

            steps = remove_due(shard, "g", places, is_old)
            next(steps)
            await commit(world, "g", change(world, 9, partition=SOME - 1))
            assert await finish(steps) == SOME - 1
            assert committed(world, "g", partition=SOME - 1) == 9
            assert stored(world, "g") == 1

    run(test())


def test_a_topic_that_is_made_again_while_its_offsets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.turns.TURN_NS", 50_000)  # less than a portion takes

    async def test() -> None:
        async with World() as world:
            count = (STEPS_AT_ONCE + 5) * PORTION_RECORDS
            await filled(world, "g", count)
            topic = world.topics.get("t")
            assert topic is not None
            world.topics.remove(topic.topic_id)
            assert stored(world, "g")  # the rest goes in the background
            world.topics.put(replace(topic, topic_id=uuid4()))
            await commit(world, "g", change(world, 1, partition=count - 1))
            while stored(world, "g") > 1:  # noqa: ASYNC110 - a state, not an event
                await asyncio.sleep(0)
            await settle()
            assert committed(world, "g", partition=count - 1) == 1

    run(test())


def test_a_group_of_an_earlier_version_whose_id_is_too_long_can_be_deleted() -> None:
    group = "g" * 32_000

    async def test() -> World:
        async with World() as world:
            topic = await world.create_topic("t", 100)
            await world.groups.prepare()
            for index in range(100):
                offset = CommittedOffset(7, -1, "", world.clock.now_ms(), topic_id=topic.topic_id)
                batch = build_batch(offset_records(group, [OffsetChange("t", index, offset)]), timestamp=0)
                log_of(world, group).append(batch, read_header(batch), 0)
        return world

    async def later(world: World) -> None:
        async with world:
            assert stored(world, group) == 100
            before = len(log_of(world, group).batches)
            await world.groups.delete_group(group)
            assert world.groups.find(group) is None
            assert max(map(len, log_of(world, group).batches[before:])) < BATCH_BYTES_MAX

    assert 1 < portion_count(group) < PORTION_RECORDS
    run(later(run(test()).restarted()))
