"""Kafka requests of any size and push frames on one port, told apart by their first bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.limits import FRAME_BYTES_MAX
from penstock.protocol.kafka.apis import APIS, PRODUCE, Api
from penstock.protocol.push.frames import FrameType, encode_frame
from penstock.protocol.push.messages import Reset, Subscribe, encode
from penstock.protocol.recognition import is_push

pytestmark = pytest.mark.feature("F-12")

MIB_16 = 1 << 24


def decided(start: bytes) -> bool:
    """The decision, which is made once, however the bytes come."""
    answers = [is_push(start[:count], FRAME_BYTES_MAX) for count in range(1, len(start) + 1)]
    known = [answer for answer in answers if answer is not None]
    assert known, "no decision"
    assert len(set(known)) == 1 or answers.index(known[0]) == len(answers) - len(known)
    return known[0]


def kafka(size: int, api: Api, version: int, correlation_id: int, client_id: bytes | None, body: bytes) -> bytes:
    length = -1 if client_id is None else len(client_id)
    header = struct.pack(">ihhih", size, api.key, version, correlation_id, length) + (client_id or b"")
    return header + (b"\0" if version >= api.flexible else b"") + body


def produce_body(version: int, acks: int) -> bytes:
    return (b"\0" if version >= APIS[PRODUCE].flexible else b"\xff\xff") + struct.pack(">hi", acks, 30_000)


sizes = st.integers(50, FRAME_BYTES_MAX) | st.integers(1, FRAME_BYTES_MAX // MIB_16).map(lambda count: count * MIB_16)
client_ids = st.none() | st.binary(max_size=255)


@given(st.data(), sizes, st.integers(0, (1 << 31) - 1), client_ids)
def test_a_kafka_request_is_one_whatever_its_size(
    data: st.DataObject, size: int, correlation_id: int, client_id: bytes | None
) -> None:
    api = data.draw(st.sampled_from(list(APIS.values())))
    version = data.draw(st.integers(api.oldest, api.newest))
    acks = data.draw(st.sampled_from([-1, 0, 1]))
    assert not decided(kafka(size, api, version, correlation_id, client_id, produce_body(version, acks)))


@given(st.integers(1, (1 << 40) - 1), st.sampled_from(sorted(FrameType)), st.binary(min_size=4, max_size=40))
def test_most_push_frames_are_known_by_their_type(message_id: int, frame_type: FrameType, payload: bytes) -> None:
    if frame_type > FRAME_BYTES_MAX >> 24:
        assert is_push(encode_frame(frame_type, message_id, payload)[:1], FRAME_BYTES_MAX)


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=249)


@given(st.integers(1, (1 << 24) - 1) | st.integers(768, 3583), names, names)
def test_first_requests_of_push_clients_are_never_taken_for_kafka(message_id: int, name: str, topic: str) -> None:
    assert decided(encode(Subscribe(name), message_id))
    assert decided(encode(Subscribe("", topic, name, "client"), message_id))
    assert decided(encode(Reset(name, 0, ()), message_id))


def test_other_bytes_are_left_to_the_kafka_port_to_explain() -> None:
    for start in (b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\0\0\0\x05hello", b"\xff" * 16):
        assert is_push(start, FRAME_BYTES_MAX) is False
