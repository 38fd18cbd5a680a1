"""Pages against a plain list: by offset, by key and time, whatever the batches, the limits and the order of times."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.edge import reading
from penstock.edge.errors import Replaced
from penstock.edge.http.cursors import BEGINNING, TIME_MAX, BadCursor, Position, position_of
from penstock.edge.index import Moment
from penstock.edge.messages import Incoming, Place, Stored
from penstock.edge.reading import Reader
from tests.support.edge_store import contents, messages, opened

pytestmark = pytest.mark.feature("P-13")
KEYS = (b"a", b"b", b"", None)
sent = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(KEYS), st.integers(0, 40)), min_size=1, max_size=40)
moments = st.builds(Moment, st.integers(-(1 << 63), TIME_MAX), st.integers(-1, TIME_MAX))
positions = st.builds(
    Position, generation=st.text(), order=st.just("offset"), offset=st.integers(0, TIME_MAX)
) | st.builds(
    Position,
    generation=st.text(),
    order=st.just("time"),
    after=moments,
    before_ms=st.integers(-(1 << 63), TIME_MAX),
    key=st.none() | st.binary(),
)


@given(positions)
def test_a_cursor_says_where_it_was(position: Position) -> None:
    assert position_of(position.text()) == position


@given(st.text() | st.binary().map(lambda data: data.hex()))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        position_of(text)


@settings(max_examples=12, deadline=None)
@given(
    sent, st.integers(1, 7), st.integers(0, 30), st.integers(0, 30), st.sampled_from([*KEYS[:3], b"none"]), st.data()
)
def test_pages_hold_what_a_list_would(
    rows: list[tuple[int, bytes | None, int]], limit: int, first: int, before: int, key: bytes, data: st.DataObject
) -> None:
    incoming = [
        Incoming(Place(0, number), time, row_key, bytes(size)) for number, (time, row_key, size) in enumerate(rows)
    ]
    cut = data.draw(st.integers(0, len(incoming)))

    async def scenario(root: Path) -> None:
        async with opened(root) as store:
            for some in (incoming[:cut], incoming[cut:]):
                await store.store(some)
            stored = contents(store.active)
            by_time = sorted(stored, key=lambda each: (each.timestamp, each.offset))
            reader = Reader(store)
            asked = Position(generation="", order="offset", offset=first)
            assert await _all(reader, asked, limit) == stored[first:]
            for wanted in (None, key):
                asked = Position(generation="", order="time", after=Moment(first, -1), before_ms=before, key=wanted)
                assert await _all(reader, asked, limit) == [
                    each for each in by_time if first <= each.timestamp < before and wanted in (None, each.key)
                ]
            latest = await reader.latest(key)
            assert latest == next((each for each in reversed(stored) if each.key == key), None)

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(scenario(Path(root)))


async def _all(reader: Reader, asked: Position, limit: int) -> list[Stored]:
    found: list[Stored] = []
    position: Position | None = None
    while True:
        page = await reader.page(position, asked, limit)
        assert len(page.messages) <= limit
        found += page.messages
        if not page.more:
            return found
        assert page.messages, "there is more, and so there is something"
        position = position_of(page.position.text())


def test_a_page_ends_before_it_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES_MAX", 1000)
    bodies = [bytes(400), bytes(400), bytes(400), bytes(5000), bytes(1)]

    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store([Incoming(Place(0, n), n, b"k", body) for n, body in enumerate(bodies)])
            for asked in (
                Position(generation="", order="offset"),
                Position(generation="", order="time", after=BEGINNING, key=b"k"),
            ):
                sizes = []
                page = await Reader(store).page(None, asked, 100)
                sizes.append(len(page.messages))
                while page.more:
                    page = await Reader(store).page(page.position, asked, 100)
                    sizes.append(len(page.messages))
                assert sizes == [2, 1, 1, 1]

    asyncio.run(scenario())


def test_keys_of_the_same_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.edge.index.key_hash", lambda key: 1)

    async def scenario() -> None:
        async with opened(tmp_path) as store:
            keys = [b"a", b"b", b"a", b"b", b"b"]
            await store.store([Incoming(Place(0, n), n, key, b"") for n, key in enumerate(keys)])
            reader = Reader(store)
            for key, places in ((b"a", [0, 2]), (b"b", [1, 3, 4]), (b"c", [])):
                page = await reader.page(None, Position(generation="", order="time", key=key), 2)
                found = [each.place.offset for each in page.messages]
                assert found == places[:2]
                latest = await reader.latest(key)
                assert (None if latest is None else latest.place.offset) == (places[-1] if places else None)

    asyncio.run(scenario())


def test_a_refresh_ends_cursors_and_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(4)))
            reader = Reader(store)
            asked = Position(generation="", order="offset")
            page = await reader.page(None, asked, 2)
            await store.begin_refresh(1, {0: 4})
            await store.store(messages(range(4)))
            assert len((await reader.page(page.position, asked, 5)).messages) == 2, "the old data are read"
            await store.complete_refresh()
            with pytest.raises(Replaced, match="ask again without it"):
                await reader.page(page.position, asked, 5)
            assert len((await reader.page(None, asked, 5)).messages) == 4

    asyncio.run(scenario())
