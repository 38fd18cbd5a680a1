"""Pages: everything once, in order, whatever the names are; cursors that nobody was given are refused."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.errors import KafkaError
from penstock.node.rest.paging import first_names, index_after, name_after, place_after, to_cursor

NAMES = st.text(st.characters(codec="utf-8"), max_size=5)


@given(names=st.lists(NAMES, max_size=60), limit=st.integers(1, 7))
def test_pages_are_everything_once_and_in_order(names: list[str], limit: int) -> None:
    found: list[str] = []
    cursor = None
    while True:
        page = asyncio.run(first_names(iter(names), name_after(cursor), limit + 1))
        found += page[:limit]
        if len(page) <= limit:
            break
        cursor = to_cursor(page[limit - 1])
    assert found == sorted(set(names))


def test_thousands_of_names_are_never_all_kept() -> None:
    names = [f"{number:06}" for number in range(20_000, 0, -1)] * 2
    assert asyncio.run(first_names(iter(names), "000010", 3)) == ["000011", "000012", "000013"]


@given(topic=NAMES, partition=st.integers(0, (1 << 31) - 1))
def test_cursors_come_back(topic: str, partition: int) -> None:
    assert name_after(to_cursor(topic)) == topic
    assert place_after(to_cursor(topic, partition)) == (topic, partition)
    assert index_after(to_cursor(partition)) == partition


@given(st.text(max_size=40))
def test_whatever_is_passed_as_a_cursor(text: str) -> None:
    for read in (name_after, place_after, index_after):
        with suppress(KafkaError):
            read(text)


def test_a_cursor_of_another_list_is_refused() -> None:
    for read, cursor in ((name_after, to_cursor(1)), (place_after, to_cursor("a")), (index_after, to_cursor("a"))):
        with pytest.raises(KafkaError):
            read(cursor)
