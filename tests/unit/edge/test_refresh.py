"""A refresh: the old data are read until the new ones are complete, and a restart at any step goes on with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.edge_store import messages, opened, places

pytestmark = pytest.mark.feature("P-13")


def test_the_old_data_are_read_until_the_new_ones_are_complete(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(5)))
            assert not await store.begin_refresh(7, {0: 8, 1: 1})
            await store.store(messages(range(8)))
            assert not store.is_refreshed()
            assert len(places(store.active)) == 5
            await store.store(messages([0], partition=1))
            assert store.is_refreshed()
            await store.complete_refresh()
            assert places(store.active) == [*((0, offset) for offset in range(8)), (1, 0)]
            assert store.state.refresh is None
            assert await store.begin_refresh(7, {0: 8, 1: 1}), "complete already"
            assert not (tmp_path / "index-1.db").exists()

    asyncio.run(scenario())


def test_nothing_to_fetch_is_complete_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(5)))
            assert not await store.begin_refresh(1, {0: 0})
            assert store.is_refreshed()
            await store.complete_refresh()
            assert store.active.end == 0

    asyncio.run(scenario())


def test_each_step_survives_a_restart(tmp_path: Path) -> None:
    async def step(number: int) -> None:
        async with opened(tmp_path) as store:
            if number == 0:
                await store.store(messages(range(5)))
            elif number < 4:
                assert not await store.begin_refresh(7, {0: 6})
                assert len(places(store.active)) == 5, "the old ones"
                await store.store(messages(range(number, number * 2)))
                assert await store.store(messages(range(2))) == (messages([0]) if number == 1 else [])
                assert not store.is_refreshed() or number == 3
            elif number == 4:
                assert not await store.begin_refresh(7, {0: 6})
                assert store.is_refreshed()
                await store.complete_refresh()
            else:
                assert await store.begin_refresh(7, {0: 6})
                assert sorted(places(store.active)) == [(0, offset) for offset in range(6)]

    for number in range(6):
        asyncio.run(step(number))
    assert [path.name for path in tmp_path.glob("index-*.db")] == ["index-2.db"]


def test_a_new_refresh_takes_the_place_of_one_under_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(5)))
            await store.begin_refresh(7, {0: 6})
            await store.store(messages(range(3)))
            await store.begin_refresh(8, {0: 2})
            assert not store.is_refreshed()
            await store.store(messages(range(2)))
            await store.complete_refresh()
            assert places(store.active) == [(0, 0), (0, 1)]

    asyncio.run(scenario())


def test_the_last_word_on_the_ends_counts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.begin_refresh(7, {0: 6})
            await store.store(messages(range(3)))
            assert not store.is_refreshed()
            await store.begin_refresh(7, {0: 3})
            assert store.is_refreshed()

    asyncio.run(scenario())
