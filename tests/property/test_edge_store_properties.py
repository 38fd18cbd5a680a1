"""Messages are stored once, however often and in whatever order they come, over restarts and without the index."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.edge.index import delete_index
from tests.support.edge_store import message, opened, places

pytestmark = pytest.mark.feature("P-13")
deliveries = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=12)
lives = st.lists(st.tuples(st.lists(deliveries, max_size=4), st.booleans()), min_size=1, max_size=4)


@settings(max_examples=12, deadline=None)
@given(lives)
def test_every_source_offset_is_stored_once(runs: list[tuple[list[list[tuple[int, int]]], bool]]) -> None:
    stored: list[tuple[int, int]] = []

    async def live(root: Path, batches: list[list[tuple[int, int]]]) -> None:
        async with opened(root) as store:
            for batch in batches:
                new = await store.store([message(offset, partition) for partition, offset in batch])
                expected = [place for place in dict.fromkeys(batch) if place not in stored]
                assert [tuple(each.place) for each in new] == expected
                stored.extend(expected)
            assert places(store.active) == stored

    with tempfile.TemporaryDirectory() as root:
        for batches, loses_index in runs:
            asyncio.run(live(Path(root), batches))
            if loses_index:
                delete_index(Path(root) / "index-1.db")
