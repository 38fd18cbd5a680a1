"""Frames out of a stream, however it is cut, and what is refused before it is read."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.push.frames import (
    HEADER_BYTES,
    Frame,
    FrameSplitter,
    FrameType,
    MalformedFrame,
    encode_frame,
)

pytestmark = pytest.mark.feature("P-07")

frames = st.builds(Frame, st.sampled_from(FrameType), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=50))


def test_a_frame_is_thirteen_bytes_and_its_payload() -> None:
    encoded = encode_frame(FrameType.READY, 0x0102030405060708, b"abc")
    assert encoded == bytes.fromhex("06 0102030405060708 00000003 616263")
    assert HEADER_BYTES == 13
    assert sorted(FrameType) == list(range(1, 0x10))


@given(sent=st.lists(frames, max_size=6), data=st.data())
def test_a_stream_gives_the_same_frames_however_it_is_cut(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(*frame) for frame in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = FrameSplitter()
    received = [
        frame
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for frame in splitter.feed(memoryview(stream)[start:end])
    ]
    assert received == sent
    assert splitter.held_bytes == 0


@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_bytes_are_frames_or_refused(noise: bytes, piece: int) -> None:
    splitter = FrameSplitter(64)
    with contextlib.suppress(MalformedFrame):
        for start in range(0, len(noise), piece):
            splitter.feed(noise[start : start + piece])
            assert splitter.held_bytes < HEADER_BYTES + 64


def test_a_length_above_the_limit_is_refused_from_the_header() -> None:
    splitter = FrameSplitter(1000)
    header = encode_frame(FrameType.PUBLISH, 1, bytes(1001))[:HEADER_BYTES]
    with pytest.raises(MalformedFrame, match=r"1001 bytes.*at most 1000.*frame_bytes_max"):
        splitter.feed(header)


def test_a_byte_that_is_no_type_is_refused_at_once() -> None:
    with pytest.raises(MalformedFrame, match="0x47"):
        FrameSplitter().feed(b"G")
    with pytest.raises(MalformedFrame, match="0x10"):
        FrameSplitter().feed(encode_frame(0x10, 1))
