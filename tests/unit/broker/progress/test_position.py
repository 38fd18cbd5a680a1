"""Positions as text: every position that is stored is found again, those of the first form, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.broker.progress.position import (
    Counted,
    Position,
    Range,
    decode_position,
    encode_position,
    is_position_text,
)

pytestmark = pytest.mark.feature("P-09", "Q-05")

gaps_and_lengths = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 1000)), max_size=20)


def ranges(start: int, parts: list[tuple[int, int]]) -> tuple[Range, ...]:
    found = []
    for gap, length in parts:
        found.append(Range(start + gap, start + gap + length - 1))
        start += gap + length
    return tuple(found)


@given(st.integers(0, 1 << 62), gaps_and_lengths, gaps_and_lengths, st.integers(1, 1000), st.integers(0, 1 << 62))
def test_what_is_stored_is_found_again(
    offset: int, done: list[tuple[int, int]], counted: list[tuple[int, int]], count: int, refresh_id: int
) -> None:
    counts = tuple(Counted(*one, count) for one in ranges(offset - 1, counted))
    position = Position(offset, ranges(offset, done), counts)
    text = encode_position(position, refresh_id)
    assert is_position_text(text)
    assert decode_position(offset, text) == (position, refresh_id)


def test_the_texts_of_the_format_page() -> None:
    position = Position(100, (Range(103, 104), Range(106, 115)))
    assert encode_position(position, 2) == "push1 2 3+2 1+10"
    counted = position._replace(counted=(Counted(100, 100, 9), Counted(101, 102, 1)))
    assert encode_position(counted, 2) == "push2 2 3+2 1+10 / 0+1*9 0+2*1"


def test_positions_without_counts_have_the_old_text() -> None:
    assert decode_position(7, "push1 0") == (Position(7), 0)
    assert decode_position(7, "push1 3 1+2") == (Position(7, (Range(8, 9),)), 3)


@given(st.text())
def test_what_somebody_else_has_committed_is_an_offset(text: str) -> None:
    position, _ = decode_position(7, text)
    assert position.offset == 7
    position, _ = decode_position(7, "push2 " + text)
    assert position.offset == 7


@pytest.mark.parametrize(
    "text", ["push2 0 / 0+1", "push2 0 / 0+1*0", "push2 0 / -1+1*2", "push2 0 1+0 / 0+1*2", "push2"]
)
def test_a_text_that_is_damaged_counts_for_nothing(text: str) -> None:
    assert decode_position(7, text) == (Position(7), 0)
