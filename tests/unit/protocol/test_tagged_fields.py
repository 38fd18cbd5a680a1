"""Tagged fields that nobody knows are skipped, as many as any client would send; more are refused before they are read.

They are counted over all structs of a request: many structs with a few each are as many.
"""

import struct
from collections.abc import Callable

import pytest

from penstock.model.limits import TAGGED_FIELDS_MAX
from penstock.protocol.kafka import fetch, produce
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.headers import body_start, read_request_header
from penstock.protocol.kafka.messages import decode_request
from penstock.protocol.kafka.primitives import MalformedRequest, write_unsigned_varint
from tests.support.wire import API_KEYS, encode_header

METADATA, LEAVE_GROUP, HEARTBEAT = API_KEYS["metadata"], API_KEYS["leave_group"], API_KEYS["heartbeat"]
NO_TAGS = b"\0"


def tags(count: int) -> bytes:
    return write_unsigned_varint(count) + b"\x63\x00" * count  # tag 99, no bytes


def array(*elements: bytes) -> bytes:
    return write_unsigned_varint(len(elements) + 1) + b"".join(elements)


def header(each: int, structs: int) -> None:
    frame = encode_header(METADATA, 12, 1) + tags(each * structs)
    assert body_start(frame, read_request_header(frame), APIS[METADATA]) == len(frame)


def produce_partitions(each: int, structs: int) -> None:
    partition = struct.pack(">i", 0) + b"\0" + tags(each)
    body = b"\0" + struct.pack(">hi", -1, 1) + array(b"\x02s" + array(*[partition] * structs) + NO_TAGS) + NO_TAGS
    assert len(produce.decode(memoryview(body), 0, 9).partitions) == structs


def produce_topics(each: int, structs: int) -> None:
    topic = b"\x02s" + array() + tags(each)
    produce.decode(memoryview(b"\0" + struct.pack(">hi", -1, 1) + array(*[topic] * structs) + NO_TAGS), 0, 9)


def fetch_partitions(each: int, structs: int) -> None:
    head = struct.pack(">iiiibii", -1, 0, 0, 1, 0, 0, -1)
    partition = struct.pack(">iiqiqi", 0, -1, 0, -1, -1, 1) + tags(each)
    body = head + array(b"\x02s" + array(*[partition] * structs) + NO_TAGS) + array() + b"\x01" + NO_TAGS
    assert len(fetch.decode(memoryview(body), 0, 12).partitions) == structs


def elements(each: int, structs: int) -> None:
    topic = bytes(16) + b"\x02s" + tags(each)
    assert len(decode_request(METADATA, 12, array(*[topic] * structs) + b"\0\0" + NO_TAGS, 0).topics) == structs


def elements_and_end(each: int, structs: int) -> None:
    member = b"\x02m\x00\x00" + tags(each)
    body = b"\x02g" + array(*[member] * (structs - 1)) + tags(each)
    assert len(decode_request(LEAVE_GROUP, 5, body, 0).members) == structs - 1


def end_without_arrays(each: int, structs: int) -> None:
    body = b"\x02g" + struct.pack(">i", 1) + b"\x02m\x00" + tags(each * structs)
    assert decode_request(HEARTBEAT, 4, body, 0).group_id == "g"


@pytest.mark.parametrize(
    "decode",
    [header, produce_partitions, produce_topics, fetch_partitions, elements, elements_and_end, end_without_arrays],
)
def test_so_many_tagged_fields_and_no_more(decode: Callable[[int, int], None]) -> None:
    decode(TAGGED_FIELDS_MAX // 100, 100)
    with pytest.raises(MalformedRequest, match="more than 1000 tagged fields"):
        decode(TAGGED_FIELDS_MAX // 100, 101)
    with pytest.raises(MalformedRequest, match="more than 1000 tagged fields"):
        decode(1 << 20, 2)
