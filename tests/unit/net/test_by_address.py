"""Handshakes by address: turns between addresses, and the address that has most."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.net.tls.by_address import ByAddress
from penstock.net.tls.first_record import HEADER_BYTES, RECORD_BYTES_MAX, record_bytes

pytestmark = pytest.mark.feature("F-06")


class Item(NamedTuple):
    source: str
    number: int


def all_in_turn(queue: ByAddress[Item]) -> list[Item]:
    taken = []
    while queue:
        taken.append(queue.take(next(iter(queue.sources))))
    return taken


def test_addresses_take_turns() -> None:
    queue: ByAddress[Item] = ByAddress()
    for item in (*(Item("a", number) for number in range(4)), Item("b", 0), Item("b", 1), Item("c", 0)):
        queue.add(item)
    assert queue.largest() == "a"
    assert all_in_turn(queue) == [
        *(("a", 0), ("b", 0), ("c", 0)),
        *(("a", 1), ("b", 1)),
        *(("a", 2), ("a", 3)),
    ]


def test_what_has_gone_is_nowhere() -> None:
    queue: ByAddress[Item] = ByAddress()
    queue.add(Item("a", 0))
    assert Item("a", 0) in queue
    assert queue.discard(Item("a", 0))
    assert not queue.discard(Item("a", 0))
    assert (len(queue), list(queue), list(queue.sources), queue.count("a")) == (0, [], [], 0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=40, unique=True), st.data())
def test_every_item_has_its_turn_in_the_order_of_its_address(items: list[tuple[str, int]], data: st.DataObject) -> None:
    queue: ByAddress[Item] = ByAddress()
    added = [Item(*item) for item in items]
    for item in added:
        queue.add(item)
    for gone in data.draw(st.lists(st.sampled_from(added), unique=True)) if added else []:
        queue.discard(gone)
        added.remove(gone)
    assert len(queue) == len(added)
    taken = all_in_turn(queue)
    for source in "abc":
        assert [item for item in taken if item.source == source] == [item for item in added if item.source == source]


@given(st.binary(max_size=20))
def test_the_length_of_a_first_record_is_bounded(beginning: bytes) -> None:
    assert HEADER_BYTES <= record_bytes(beginning) <= RECORD_BYTES_MAX


def test_the_length_of_a_first_record() -> None:
    assert record_bytes(b"\x16\x03\x01\x02") == HEADER_BYTES
    assert record_bytes(b"\x16\x03\x01\x02\x00") == HEADER_BYTES + 512
    assert record_bytes(b"\x16\x03\x01\xff\xff\x01") == RECORD_BYTES_MAX
