"""The last positions of a subscription are in the log before its group is released, whatever is under way."""

from __future__ import annotations

import asyncio

import pytest

from penstock.broker.groups.group_state import GroupState
from penstock.model.errors import ErrorCode, KafkaError
from tests.support.group_requests import change, code_of, commit
from tests.support.group_world import run, settle
from tests.unit.broker.delivery.delivery_world import NAME, TOPIC, DeliveryWorld, until

pytestmark = pytest.mark.feature("P-09", "Q-05")


def test_an_offset_committed_after_the_release_is_not_overwritten() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.with_a_commit_under_way()
            one.leave(live)
            assert one.group().state is GroupState.EMPTY
            committing = asyncio.create_task(commit(one.world, NAME, change(one.world, 2)))
            await settle()
            one.world.flush()
            await committing
            one.log.flushes_at_once = True
            one.world.flush()
            await one.subscriptions.settled(NAME)
            assert one.offset == 2
            live = await one.join()
            await until(lambda: live.in_flight == 2)

    run(test())


def test_a_group_deleted_after_the_release_stays_deleted() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            one.leave(await one.with_a_commit_under_way())
            deleting = asyncio.create_task(one.world.groups.delete_group(NAME))
            await settle()
            one.world.flush()
            await deleting
            one.log.flushes_at_once = True
            one.world.flush()
            await one.subscriptions.settled(NAME)
            assert (one.offset, one.group()) == (None, None)

    run(test())


def test_a_member_that_joins_meanwhile_waits_for_the_last_positions() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            one.leave(await one.with_a_commit_under_way())
            joining = asyncio.create_task(one.join())
            await settle()
            assert not joining.done()
            end = one.log.log_end
            one.world.flush()
            live = await joining
            assert (one.offset, one.log.log_end) == (3, end), "they were written once"
            await until(lambda: live.in_flight == 1)
            assert one.group().state is GroupState.STABLE

    run(test())


def test_a_subscription_deleted_meanwhile_leaves_no_position() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            await one.with_a_commit_under_way()
            deleting = asyncio.create_task(one.subscriptions.delete(NAME))
            await settle()
            assert not deleting.done()
            one.log.flushes_at_once = True
            one.world.flush()
            await deleting
            assert (one.offset, one.group()) == (None, None)
            await one.create()
            live = await one.join()
            await until(lambda: live.in_flight == 4)

    run(test())


def test_a_node_that_stops_has_written_the_last_positions() -> None:
    async def test() -> None:
        one = DeliveryWorld()
        async with one:
            live = await one.with_a_commit_under_way()
            one.stop()
            one.leave(live)
            one.world.flush()  # the node flushes its logs at the end
        async with one.world.restarted() as after:
            assert after.groups.committed(NAME)[TOPIC][0].offset == 3

    run(test())


def test_refused_positions_keep_the_group_held_until_a_retry_succeeds() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.with_a_commit_under_way()
            one.log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
            one.leave(live)
            one.log.flushes_at_once = True
            one.world.flush()
            await settle()
            assert (one.offset, one.group().state, one.group().member_count) == (1, GroupState.STABLE, 0)
            with pytest.raises(KafkaError) as held:
                await commit(one.world, NAME, change(one.world, 2))
            assert code_of(held) is ErrorCode.UNKNOWN_MEMBER_ID
            for _ in range(3):
                with pytest.raises(KafkaError) as refused:
                    await one.join()
                assert code_of(refused) is ErrorCode.KAFKA_STORAGE_ERROR
            one.log.refusal = None
            await until(lambda: one.group().state is GroupState.EMPTY)
            assert one.offset == 3
            await commit(one.world, NAME, change(one.world, 2))
            assert one.offset == 2
            await one.join()

    run(test())


def test_a_log_that_fails_loses_the_group_and_nobody_waits() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            one.leave(await one.with_a_commit_under_way())
            joining = asyncio.create_task(one.join())
            await settle()
            one.world.fail_flush(one.log.topic, one.log.partition.partition)
            with pytest.raises(KafkaError) as failed:
                await joining
            assert code_of(failed) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        async with one.world.restarted() as after:
            assert after.groups.committed(NAME)[TOPIC][0].offset == 0

    run(test())


def test_refused_positions_of_a_deleted_topic_are_dropped() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            one.publish(4)
            live = await one.join()
            await until(lambda: live.in_flight == 4)
            one.log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
            one.done(live, 0, 2)
            one.leave(live)
            assert one.group().state is GroupState.STABLE
            one.log.refusal = None
            await one.delete_topic()
            assert one.group().state is GroupState.EMPTY
            await one.world.create_topic(TOPIC)
            await one.subscriptions.settled(NAME)
            assert one.offset is None
            one.publish(2)
            live = await one.join()
            await until(lambda: live.in_flight == 2)

    run(test())


def test_refused_positions_do_not_count_as_positions_of_a_refresh() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.with_a_commit_under_way()
            one.log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
            one.leave(live)
            one.log.flushes_at_once = True
            one.world.flush()
            await one.subscriptions.reset(NAME)
            one.log.refusal = None
            live = await one.join()
            await until(lambda: live.in_flight == 4)

    run(test())
