"""The bodies of the pipe: golden bytes, round trips, and garbage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.pipe.wire import (
    PARTITIONS_MAX,
    LastBatch,
    PullAnswer,
    Pulled,
    PullRequest,
    Status,
    Wanted,
    WireError,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

pytestmark = pytest.mark.feature("P-12")

TOPIC = bytes(range(16))
INT64 = st.integers(-(2**63), 2**63 - 1)
OFFSET = st.integers(0, 2**63 - 1)
INT32 = st.integers(0, 2**31 - 1)

last_batches = st.builds(LastBatch, OFFSET, st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1))
wanted = st.builds(
    Wanted, st.binary(min_size=16, max_size=16), INT32, OFFSET, INT64, st.integers(-1, 2**31 - 1),
    st.none() | last_batches,
)  # fmt: skip
distinct = st.lists(wanted, unique_by=lambda each: (each.topic, each.partition))
requests = st.builds(PullRequest, INT64, INT32, st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1), distinct)
pulled = st.builds(
    Pulled, st.binary(min_size=16, max_size=16), INT32, st.sampled_from(Status), INT64, INT64, st.binary(),
    st.text(max_size=100),
)  # fmt: skip


def joined(answer: PullAnswer) -> bytes:
    return b"".join(bytes(piece) for piece in encode_answer(answer))


@given(requests)
def test_requests_round_trip(request: PullRequest) -> None:
    assert decode_request(encode_request(request)) == request


@given(INT64, st.lists(pulled))
def test_answers_round_trip(version: int, partitions: list[Pulled]) -> None:
    found = decode_answer(joined(PullAnswer(version, partitions)))
    assert found.topics_version == version
    assert [each._replace(records=bytes(each.records)) for each in found.partitions] == partitions


@given(st.binary() | st.binary().map(lambda rest: b"PIPE\x01\x01\0\0" + rest))
def test_garbage_is_refused_or_a_request(body: bytes) -> None:
    try:
        assert encode_request(decode_request(body))[:8] == b"PIPE\x01\x01\0\0"
    except WireError:
        pass


@given(INT64, st.lists(pulled, min_size=1), st.data())
def test_a_cut_answer_is_noticed(version: int, partitions: list[Pulled], data: st.DataObject) -> None:
    whole = joined(PullAnswer(version, partitions))
    with pytest.raises(WireError):
        decode_answer(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_a_partition_is_named_once() -> None:
    request = PullRequest(7, 5_000, 1 << 20, 100, [Wanted(TOPIC, 2, 41, 3), Wanted(TOPIC, 3, 41, 3)])
    assert decode_request(encode_request(request)) == request
    with pytest.raises(WireError, match="partition 2 of topic 00010203-0405-0607-0809-0a0b0c0d0e0f twice"):
        decode_request(encode_request(request._replace(partitions=[*request.partitions, Wanted(TOPIC, 2, 0, 3)])))


def test_an_answer_without_records_is_one_piece() -> None:
    """Each piece is sent by itself."""
    refused = [Pulled(TOPIC, number, Status.UNKNOWN, -1, -1) for number in range(100)]
    assert len(encode_answer(PullAnswer(1, refused))) == 1
    assert len(encode_answer(PullAnswer(1, [*refused, Pulled(TOPIC, 100, Status.OK, 0, 1, b"records"), *refused]))) == 3


def test_the_bytes_of_a_request() -> None:
    request = PullRequest(7, 5_000, 1 << 20, 100, [Wanted(TOPIC, 2, 41, 3, 6, LastBatch(40, 0xCAFE, 1))])
    assert encode_request(request).hex(" ") == (
        "50 49 50 45 01 01 00 00 00 00 00 00 00 00 00 07 00 00 13 88 00 10 00 00 00 00 00 64 00 00 00 01 "
        "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 00 00 00 02 00 00 00 00 00 00 00 29 "
        "00 00 00 00 00 00 00 03 00 00 00 06 00 00 00 00 00 00 00 28 00 00 ca fe 00 00 00 01"
    )


def test_the_bytes_of_an_answer() -> None:
    answer = PullAnswer(8, [Pulled(TOPIC, 2, Status.DIVERGED, 3, 50, b"\xff\xee", "why")])
    assert joined(answer).hex(" ") == (
        "50 49 50 45 01 02 00 00 00 00 00 00 00 00 00 08 00 00 00 01 "
        "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 00 00 00 02 00 03 00 03 00 00 00 00 00 00 00 03 "
        "00 00 00 00 00 00 00 32 00 00 00 02 77 68 79 ff ee"
    )


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (0, b"KAFK", "not a body"),
        (4, b"\x02", "version 2"),
        (5, b"\x02", "not a body"),
        (16, b"\xff\xff\xff\xff", "a wait of -1 ms"),
        (20, b"\0\0\0\0", "0 bytes"),
        (28, (PARTITIONS_MAX + 1).to_bytes(4, "big"), "partitions in"),
    ],
)
def test_what_is_wrong_is_said(at: int, value: bytes, says: str) -> None:
    body = bytearray(encode_request(PullRequest(1, 1, 1, 1, [Wanted(TOPIC, 0, 0, 0)])))
    body[at : at + len(value)] = value
    with pytest.raises(WireError, match=says):
        decode_request(body)
