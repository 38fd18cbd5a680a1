"""The table of a connection's states, walked at random, and its picture in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.push.frames import FrameType, MalformedFrame
from penstock.protocol.push.states import TABLE, Side, State, step
from tools.doc_tables import push_states, with_table

pytestmark = pytest.mark.feature("P-07")

PAGE = Path(__file__).parents[4] / "docs/formats/push-protocol.md"


@given(st.lists(st.tuples(st.sampled_from(Side), st.sampled_from(FrameType), st.integers(0, 1))))
def test_any_walk_stays_in_the_table(frames: list[tuple[Side, FrameType, int]]) -> None:
    state, subscribed = State.OPEN, False
    for side, frame_type, message_id in frames:
        try:
            following = step(state, side, frame_type, message_id)
        except MalformedFrame:
            continue
        assert state is not State.CLOSING, "nothing comes after the end"
        subscribed |= frame_type is FrameType.SUBSCRIBE
        assert (following is State.SUBSCRIBED) == subscribed or following is State.CLOSING
        if frame_type is FrameType.DATA or (frame_type is FrameType.RESET and side is Side.BROKER):
            assert side is Side.BROKER
            assert subscribed
        if side is Side.BROKER:
            assert frame_type is not FrameType.PUBLISH
        state = following


def test_every_state_can_be_reached_and_left_or_is_the_last() -> None:
    assert set(TABLE.values()) == set(State)
    assert {state for state, _ in TABLE} == {State.OPEN, State.SUBSCRIBED}


def test_an_error_that_answers_nothing_ends_the_connection() -> None:
    assert step(State.OPEN, Side.BROKER, FrameType.ERROR, 5) is State.OPEN
    assert step(State.OPEN, Side.BROKER, FrameType.ERROR, 0) is State.CLOSING


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text, "push states", push_states()), "run .venv/bin/python tools/doc_tables.py"
