"""Subscriptions to topics of very many partitions: each message costs a look at its own."""

from __future__ import annotations

import pytest

from penstock.broker.delivery.topic_feed import PartitionFeed
from tests.support.group_world import run, settle
from tests.unit.broker.delivery.delivery_world import NAME, DeliveryWorld, until

WIDE = 300


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
