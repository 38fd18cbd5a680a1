"""The table of a connection's states, walked at random, and its picture in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.push.frames import FrameType, MalformedFrame
from penstock.protocol.push.states import FIRST_STATES, TABLE, Side, State, logged_in, step
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
    assert {state for state, _ in TABLE} == {State.UNAUTHENTICATED, State.OPEN, State.SUBSCRIBED}
    assert set(FIRST_STATES) == {State.UNAUTHENTICATED, State.OPEN}


@given(st.sampled_from(FrameType), st.integers(0, 1))
def test_a_client_that_has_not_logged_in_does_nothing_else(frame_type: FrameType, message_id: int) -> None:
    try:
        following = step(State.UNAUTHENTICATED, Side.CLIENT, frame_type, message_id)
    except MalformedFrame:
        return
    if following is State.CLOSING:
        assert frame_type in (FrameType.DISCONNECT, FrameType.ERROR)
    else:
        assert (frame_type, following) in (
            (FrameType.AUTHENTICATE, State.UNAUTHENTICATED),
            (FrameType.HEARTBEAT, State.UNAUTHENTICATED),
        )


def test_a_frame_before_the_login_is_told_what_comes_first() -> None:
    with pytest.raises(MalformedFrame, match=r"PUBLISH before the client has logged in; .* AUTHENTICATE first"):
        step(State.UNAUTHENTICATED, Side.CLIENT, FrameType.PUBLISH)


def test_a_login_opens_the_connection_and_another_one_leaves_it_where_it_is() -> None:
    assert logged_in(State.UNAUTHENTICATED) is State.OPEN
    assert logged_in(State.OPEN) is State.OPEN
    assert logged_in(State.SUBSCRIBED) is State.SUBSCRIBED


def test_an_error_that_answers_nothing_ends_the_connection() -> None:
    assert step(State.OPEN, Side.BROKER, FrameType.ERROR, 5) is State.OPEN
    assert step(State.OPEN, Side.BROKER, FrameType.ERROR, 0) is State.CLOSING


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text, "push states", push_states()), "run .venv/bin/python tools/doc_tables.py"
