"""Subscriptions to topics of very many partitions: each message costs a look at its own, and the rest goes in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from penstock.broker.delivery import commits, live_subscriptions, start_positions
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.topic_feed import PartitionFeed
from penstock.broker.groups.held import HeldGroup
from penstock.model.batch import read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.values import Start
from penstock.runtime import turns
from penstock.runtime.turns import Steps
from tests.support.group_world import run, settle
from tests.unit.broker.delivery.delivery_world import NAME, TOPIC, DeliveryWorld, until

WIDE = 300
FEW = WIDE // 10


class Looks:
    """The partitions that are looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: list[int] = []
        deal = PartitionFeed.deal

        def counting(feed: PartitionFeed, now_ms: int) -> int | None:
            self.at.append(feed.partition.index)
            return deal(feed, now_ms)

        monkeypatch.setattr(PartitionFeed, "deal", counting)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A step or a few take as long as a turn may."""
    with monkeypatch.context() as patch:
        patch.setattr(turns, "TURN_NS", 1_000)
        yield


class Opening:
    """A subscription that is opened: it watches half of its partitions, and the others when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_halfway = asyncio.Event()
        self.go_on = asyncio.Event()
        watch, finish = live_subscriptions._watch, turns.finish
        watching: list[Steps[None]] = []

        def noted(*parts: Any) -> Steps[None]:
            watching.append(watch(*parts))
            return watching[-1]

        async def halted(steps: Steps[Any]) -> Any:
            if steps in watching:
                for _ in range(WIDE // 2):
                    next(steps)
                self.is_halfway.set()
                await self.go_on.wait()
            return await finish(steps)

        monkeypatch.setattr(live_subscriptions, "_watch", noted)
        monkeypatch.setattr(live_subscriptions, "finish", halted)


async def turns_of_others(work: Coroutine[Any, Any, Any]) -> int:
    """How often others were served before the work was done."""
    task, count = asyncio.ensure_future(work), 0
    async with asyncio.timeout(10):
        while not task.done():
            await asyncio.sleep(0)
            count += 1
    await task
    return count


def watched(live: LiveSubscription) -> int:
    return sum(live.watches(index) for index in range(2 * WIDE))


# --- messages ------------------------------------------------------------------------------------------------------


def test_a_message_costs_a_look_at_its_own_partition(looks: Looks) -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join()
            await settle()
            for number, partition in enumerate((7, 5, 7, WIDE - 1), start=1):
                looks.at.clear()
                one.publish(1, partition)
                await until(lambda number=number: live.in_flight == number)  # type: ignore[misc]
                await settle()
                assert set(looks.at) == {partition}
                assert len(looks.at) < 4

    run(test())


def test_a_partition_waits_for_answers_and_holds_up_no_other(looks: Looks) -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join()
            dispatch = live._core.dispatch
            dispatch._rules = dispatch._rules._replace(unfinished_max=5)
            one.publish(8)
            one.publish(3, 1)
            await until(lambda: live.in_flight == 8)
            await settle()
            looks.at.clear()
            one.publish(1, 2)
            await until(lambda: live.in_flight == 9)
            assert set(looks.at) == {2}
            one.done(live, 0, 2)
            await until(lambda: live.in_flight == 9)
            one.done(live, 3, 7)
            await until(lambda: live.in_flight == 4)

    run(test())


def test_a_position_that_is_set_back_and_a_refresh_deliver_again_without_news_of_the_log() -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join()
            for partition in (3, 4):
                one.publish(2, partition)
            await until(lambda: live.in_flight == 4)
            for partition in (3, 4):
                one.done(live, 0, 1, partition)
            await until(lambda: live.in_flight == 0)
            await one.subscriptions.commit_offset(live, 4, 1)
            await until(lambda: live.in_flight == 1)
            one.done(live, 1, 1, 4)
            await one.subscriptions.reset(NAME)
            await until(lambda: live.in_flight == 4)

    run(test())


# --- members and partitions ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_turns")
def test_a_subscription_is_made_opened_and_reset_in_turns() -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            await one.subscriptions.delete(NAME)
            assert await turns_of_others(one.create()) > FEW
            assert await turns_of_others(one.join()) > 3 * FEW
            assert await turns_of_others(one.subscriptions.reset(NAME)) > FEW

    run(test())


@pytest.mark.usefixtures("short_turns")
def test_partitions_are_added_in_turns_and_read_from_their_first_message_on() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.join()
            await one.grow(WIDE)
            assert watched(live) < WIDE
            for partition in (5, WIDE - 1):
                one.publish(1, partition)
            await until(lambda: live.in_flight == 2)
            await until(lambda: watched(live) == WIDE)

    run(test())


def test_a_few_partitions_are_added_at_once() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.join()
            await one.grow(5)
            assert watched(live) == 5

    run(test())


def test_a_topic_that_grows_while_its_subscription_is_opened_is_read_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            opening = Opening(monkeypatch)
            joining = asyncio.ensure_future(one.join())
            await opening.is_halfway.wait()
            await one.grow(2 * WIDE)
            opening.go_on.set()
            live = await joining
            await until(lambda: watched(live) == 2 * WIDE)

    run(test())


@pytest.mark.parametrize("again", [False, True])
def test_a_topic_that_is_deleted_while_its_subscription_is_opened_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """A topic of the same name, made at once, is another one."""

    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            opening = Opening(monkeypatch)
            joining = asyncio.ensure_future(one.join())
            await opening.is_halfway.wait()
            await one.delete_topic()
            if again:
                await one.world.create_topic(TOPIC, WIDE)
            opening.go_on.set()
            with pytest.raises(KafkaError) as refused:
                await joining
            assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert one.subscriptions.live(NAME) is None
            assert not isinstance(one.group(), HeldGroup)

    run(test())


def test_a_member_that_leaves_while_its_subscription_is_opened_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            opening = Opening(monkeypatch)
            joining = asyncio.ensure_future(one.join())
            await opening.is_halfway.wait()
            joining.cancel()
            with pytest.raises(asyncio.CancelledError):
                await joining
            assert not isinstance(one.group(), HeldGroup)
            assert not any(partition._data_waiters for partition in one.world.partitions.opened())
            opening.go_on.set()
            assert watched(await one.join()) == WIDE

    run(test())


@pytest.mark.usefixtures("short_turns")
def test_a_member_that_leaves_while_partitions_are_added_ends_that() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            live = await one.join()
            await one.grow(WIDE)
            one.leave(live)
            await turns_of_others(asyncio.sleep(0.01))
            assert watched(live) < WIDE
            again = await one.join()
            assert watched(again) == WIDE

    run(test())


def test_start_positions_are_stored_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_positions, "PORTION", 100)

    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            batches = len(one.log.batches)
            await one.subscriptions.create("second", TOPIC, Start(), by_key=False, owner="User:a")
            assert len(one.world.groups.committed("second")[TOPIC]) == WIDE
            assert len(one.log.batches) - batches in (0, 3)  # by the partition of the group's name

    run(test())


# --- positions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the positions go into one commit."""
    monkeypatch.setattr(commits, "PORTION", FEW)


def widest(one: DeliveryWorld, before: int) -> int:
    """Positions in the largest batch of those that were written since."""
    return max((read_header(batch).record_count for batch in one.log.batches[before:]), default=0)


@pytest.mark.usefixtures("portions")
def test_a_refresh_is_stored_in_portions_and_survives_a_restart() -> None:
    async def test() -> None:
        one = DeliveryWorld(WIDE)
        async with one:
            live = await one.join()
            one.publish(2, WIDE - 1)
            await until(lambda: live.in_flight == 2)
            one.done(live, 0, 1, WIDE - 1)
            before = len(one.log.batches)
            await one.subscriptions.reset(NAME)
            await until(lambda: live.in_flight == 2)
            await until(lambda: not live.change_count)
            assert 0 < widest(one, before) <= FEW
            one.done(live, 0, 1, WIDE - 1)
            await one.subscriptions.ready(live, one.member, 1)
            assert live.refresh is None
            stored = one.world.groups.committed(NAME)[TOPIC]
            assert len(stored) == WIDE
            assert {found.metadata for found in stored.values()} == {"push1 1"}
        async with one.world.restarted() as after:
            assert after.groups.committed(NAME)[TOPIC][WIDE - 1].offset == 2

    run(test())


@pytest.mark.usefixtures("portions")
def test_last_positions_are_all_in_the_log_before_the_group_is_released() -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join(credit=2 * WIDE)
            for partition in range(WIDE):
                one.publish(1, partition)
            await until(lambda: live.in_flight == WIDE)
            before = len(one.log.batches)
            for partition in range(WIDE):
                one.done(live, 0, 0, partition)
            one.leave(live)
            assert isinstance(one.group(), HeldGroup)
            await until(lambda: not isinstance(one.group(), HeldGroup))
            assert widest(one, before) <= FEW
            assert {found.offset for found in one.world.groups.committed(NAME)[TOPIC].values()} == {1}

    run(test())


@pytest.mark.usefixtures("portions")
def test_a_caller_waits_for_the_positions_that_changed_before_it_and_for_no_later_ones() -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join(credit=2 * WIDE)
            for partition in range(WIDE):
                one.publish(2, partition)
            await until(lambda: live.in_flight == 2 * WIDE)
            for partition in range(WIDE):
                one.done(live, 0, 0, partition)
            await one.subscriptions.commit_offset(live, 3, 2)  # which changed among the first
            stored = one.world.groups.committed(NAME)[TOPIC]
            assert stored[3].offset == 2
            await one.subscriptions.commit_offset(live, WIDE - 1, 2)
            assert {found.offset for found in one.world.groups.committed(NAME)[TOPIC].values()} == {1, 2}

    run(test())


@pytest.mark.usefixtures("portions")
def test_a_node_that_stops_has_written_the_last_positions_of_a_wide_topic() -> None:
    async def test() -> None:
        one = DeliveryWorld(WIDE)
        async with one:
            live = await one.join(credit=2 * WIDE)
            for partition in range(WIDE):
                one.publish(1, partition)
            await until(lambda: live.in_flight == WIDE)
            for partition in range(WIDE):
                one.done(live, 0, 0, partition)
            one.stop()
        async with one.world.restarted() as after:
            assert {found.offset for found in after.groups.committed(NAME)[TOPIC].values()} == {1}

    run(test())


@pytest.mark.usefixtures("portions")
def test_a_refusal_is_told_to_everyone_who_waits_and_what_was_refused_is_stored_later() -> None:
    async def test() -> None:
        async with DeliveryWorld(WIDE) as one:
            live = await one.join(credit=2 * WIDE)
            for partition in range(WIDE):
                one.publish(1, partition)
            await until(lambda: live.in_flight == WIDE)
            one.log.refusal = ErrorCode.KAFKA_STORAGE_ERROR
            for partition in range(WIDE):
                one.done(live, 0, 0, partition)
            with pytest.raises(KafkaError) as refused:
                await one.subscriptions.commit_offset(live, WIDE - 1, 1)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            one.log.refusal = None
            await until(lambda: not live.change_count)
            assert {found.offset for found in one.world.groups.committed(NAME)[TOPIC].values()} == {1}

    run(test())


def test_positions_with_much_to_tell_go_in_smaller_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "PORTION_TEXT_BYTES", 100)

    async def test() -> None:
        async with DeliveryWorld(FEW) as one:
            live = await one.join(credit=2 * WIDE)
            for partition in range(FEW):
                one.publish(9, partition)
            await until(lambda: live.in_flight == 9 * FEW)
            before = len(one.log.batches)
            for partition in range(FEW):
                for offset in (2, 4, 6, 8):
                    one.done(live, offset, offset, partition)
            await until(lambda: not live.change_count)
            assert 0 < widest(one, before) <= 5
            texts = {found.metadata for found in one.world.groups.committed(NAME)[TOPIC].values()}
            assert texts == {"push1 0 2+1 1+1 1+1 1+1"}

    run(test())
