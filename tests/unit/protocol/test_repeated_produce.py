"""Produce requests that are like the one before: found to be so, and answered as the codec would."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.kafka.produce import FLEXIBLE, PartitionResult, decode, encode_response
from penstock.protocol.kafka.repeated_produce import RepeatedProduce
from tests.unit.protocol.test_produce_codec import TOPIC_ID, VERSIONS, kio_request


def frame_of(version: int, body: bytes, correlation_id: int = 1, client_id: bytes = b"me") -> memoryview:
    tags = b"\0" if version >= FLEXIBLE else b""
    header = struct.pack(">hhih", 0, version, correlation_id, len(client_id)) + client_id + tags
    return memoryview(bytearray(header + body))


def repeated_from(version: int, body: bytes) -> RepeatedProduce | None:
    frame = frame_of(version, body)
    start = 10 + 2 + (version >= FLEXIBLE)
    return RepeatedProduce.of(frame, version, decode(frame, start, version))


@pytest.mark.feature("F-12")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_next_batch_of_any_size_is_found(version: int) -> None:
    repeated = repeated_from(version, kio_request(version, [("prices", [(3, b"abc")])]))
    assert repeated is not None
    for batch in (b"", b"x", b"y" * 126, b"y" * 127, b"z" * 20_000):
        frame = frame_of(version, kio_request(version, [("prices", [(3, batch)])]), correlation_id=99)
        found = repeated.batch_in(frame)
        assert found is not None
        assert bytes(found) == batch
        assert repeated.response_header(frame) == struct.pack(">i", 99) + (b"\0" if version >= FLEXIBLE else b"")


@pytest.mark.parametrize("version", VERSIONS)
def test_another_request_is_not_taken_for_the_same(version: int) -> None:
    repeated = repeated_from(version, kio_request(version, [("prices", [(3, b"abc")])]))
    assert repeated is not None
    body = kio_request(version, [("prices", [(3, b"abc")])])
    others = [
        kio_request(version, [("prices", [(4, b"abc")])]),
        kio_request(version, [("prices", [(3, b"abc")])], acks=1),
        kio_request(version, [("prices", [(3, None)])]),
        kio_request(version, [("prices", [(3, b"abc"), (4, b"abc")])]),
        kio_request(version, [("prices", [(3, b"abc")]), ("other", [(0, b"abc")])]),
        body + b"\0",
        body[:-1],
        b"",
    ]
    if version < 13:
        others.append(kio_request(version, [("pricez", [(3, b"abc")])]))
    for other in others:
        assert repeated.batch_in(frame_of(version, other)) is None, other
    assert repeated.batch_in(frame_of(version, body, client_id=b"yu")) is None
    assert repeated.batch_in(frame_of(version ^ 1, body)) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_that_have_to_be_parsed_each_time(version: int) -> None:
    assert repeated_from(version, kio_request(version, [("prices", [(3, b"abc")])], acks=0)) is None
    assert repeated_from(version, kio_request(version, [("prices", [(3, None)])])) is None
    assert repeated_from(version, kio_request(version, [("prices", [(3, b"a"), (4, b"b")])])) is None
    assert repeated_from(version, kio_request(version, [])) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_those_of_the_codec(version: int) -> None:
    repeated = repeated_from(version, kio_request(version, [("prices", [(3, b"abc")])]))
    assert repeated is not None
    topic = TOPIC_ID.bytes if version >= 13 else "prices"
    for values in ((0, 42, -1, 7), (56, -1, -1, -1), (0, 1 << 40, 1_700_000_000_000, 1 << 39)):
        assert repeated.response(*values) == encode_response([PartitionResult(topic, 3, *values)], version)


@given(st.data())
def test_whatever_is_found_is_what_the_codec_finds(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(list(VERSIONS)))
    repeated = repeated_from(version, kio_request(version, [("prices", [(3, b"abcdef" * 30)])]))
    assert repeated is not None
    frame = frame_of(version, kio_request(version, [("prices", [(3, b"abcdef" * 30)])]))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255))
    found = repeated.batch_in(frame)
    if found is not None:
        (part,) = decode(frame, 12 + (version >= FLEXIBLE), version).partitions
        assert part.records == found
