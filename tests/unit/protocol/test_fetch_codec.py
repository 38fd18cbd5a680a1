"""The hand-written Fetch codec against kio, which is generated from Kafka's own schemas."""

import datetime
import struct
import uuid
from typing import Any, cast

import kio.index
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.constants import EntityType

from penstock.model.limits import REQUEST_ELEMENTS_MAX
from penstock.protocol.kafka import fetch
from penstock.protocol.kafka.messages import encode, response_reader
from penstock.protocol.kafka.primitives import MalformedRequest

VERSIONS = range(4, 19)
TOPIC_ID = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def fields_of(entity_class: type, values: dict[str, Any]) -> Any:
    known = entity_class.__dataclass_fields__  # type: ignore[attr-defined]
    return entity_class(**{name: value for name, value in values.items() if name in known})


def kio_request(version: int) -> bytes:
    module: Any = kio.index.load_payload_module(1, version, EntityType.request)
    partition = fields_of(
        module.FetchPartition,
        {
            "partition": 3,
            "current_leader_epoch": 2,
            "fetch_offset": 99,
            "last_fetched_epoch": 1,
            "log_start_offset": 0,
            "partition_max_bytes": 1000,
        },
    )
    topic = fields_of(module.FetchTopic, {"topic": "prices", "topic_id": TOPIC_ID, "partitions": (partition,)})
    values: dict[str, Any] = {
        "replica_id": -1,
        "max_wait": datetime.timedelta(milliseconds=500),
        "min_bytes": 1,
        "max_bytes": 5000,
        "isolation_level": 1,
        "session_id": 11,
        "session_epoch": 12,
        "topics": (topic,),
        "forgotten_topics_data": (),
        "rack_id": "r1",
    }
    if version >= 7:
        forgotten = fields_of(module.ForgottenTopic, {"topic": "old", "topic_id": TOPIC_ID, "partitions": (4, 5)})
        values["forgotten_topics_data"] = (forgotten,)
    return encode(fields_of(module.FetchRequest, values))


@pytest.mark.feature("F-01")
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_every_version_decode_to_what_kio_encoded(version: int) -> None:
    request = fetch.decode(memoryview(kio_request(version)), 0, version)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation) == (500, 1, 5000, 1)
    topic: str | bytes = TOPIC_ID.bytes if version >= 13 else "prices"
    epoch = 2 if version >= 9 else -1
    last_fetched = 1 if version >= 12 else -1
    assert request.partitions == [fetch.FetchPartition(topic, 3, epoch, 99, last_fetched, 1000)]
    if version >= 7:
        old: str | bytes = TOPIC_ID.bytes if version >= 13 else "old"
        assert (request.session_id, request.session_epoch) == (11, 12)
        assert request.forgotten == [(old, 4), (old, 5)]
    else:
        assert (request.session_id, request.session_epoch) == (0, -1)
    assert request.rack == ("r1" if version >= 11 else "")


@pytest.mark.feature("F-01")
@pytest.mark.parametrize("version", VERSIONS)
def test_answers_of_every_version_are_what_kio_reads(version: int) -> None:
    topic: str | bytes = TOPIC_ID.bytes if version >= 13 else "prices"
    rows = [
        fetch.FetchedPartition(topic, 0, 0, 10, 9, 1, [b"rec", memoryview(b"ords")], 7, aborted=[(7, 3), (8, 1)]),
        fetch.FetchedPartition(topic, 1, 0, 5, 5, 0, diverging_epoch=(3, 77)),
        fetch.FetchedPartition(topic, 2, 1, -1, -1, -1, aborted=()),
    ]
    body = b"".join(cast(list[bytes], fetch.encode_response(rows, version, error_code=0, session_id=8)))
    answer, end = response_reader(1, version)(body, 0)
    assert end == len(body)
    if version >= 7:
        assert answer.session_id == 8
    first, second, third = answer.responses[0].partitions
    assert (first.high_watermark, first.last_stable_offset, first.records) == (10, 9, b"records")
    assert [(one.producer_id, one.first_offset) for one in first.aborted_transactions] == [(7, 3), (8, 1)]
    assert second.aborted_transactions is None
    assert third.aborted_transactions == ()
    assert second.records == b""
    if version >= 12:
        assert (second.diverging_epoch.epoch, second.diverging_epoch.end_offset) == (3, 77)
    assert third.error_code is KioErrorCode.offset_out_of_range


def test_record_data_is_handed_on_without_a_copy() -> None:
    parts = [memoryview(bytearray(100_000)), memoryview(bytearray(50_000))]
    buffers = fetch.encode_response([fetch.FetchedPartition("t", 0, 0, 1, 1, 0, parts, 150_000)], 11)
    sent = [buffer for buffer in buffers if isinstance(buffer, memoryview)]
    assert list(map(id, sent)) == list(map(id, parts))


@pytest.mark.parametrize(
    ("partitions", "forgotten", "empty_topics"),
    [
        (REQUEST_ELEMENTS_MAX, 0, 0),
        (0, REQUEST_ELEMENTS_MAX, 0),
        (REQUEST_ELEMENTS_MAX // 2, REQUEST_ELEMENTS_MAX // 2, 0),
        (0, 0, REQUEST_ELEMENTS_MAX + 1),
    ],
)
def test_more_elements_than_any_request_needs_are_refused(partitions: int, forgotten: int, empty_topics: int) -> None:
    """Of all arrays together, whether partitions are wanted or forgotten, and of topics without any."""
    head = struct.pack(">iiiibii", -1, 0, 0, 1000, 0, 0, 0)
    topic, row = struct.pack(">h1s", 1, b"t"), struct.pack(">iqqi", 0, 0, -1, 9)
    wanted = struct.pack(">i", 1) + topic + struct.pack(">i", partitions) + row * partitions
    if empty_topics:
        wanted = struct.pack(">i", empty_topics) + (topic + struct.pack(">i", 0)) * empty_topics
    unwanted = struct.pack(">i", 1) + topic + struct.pack(f">i{4 * forgotten}x", forgotten)
    with pytest.raises(MalformedRequest, match="more than 500000 elements"):
        fetch.decode(memoryview(head + wanted + unwanted), 0, 7)


@given(st.binary(max_size=200), st.sampled_from(list(VERSIONS)))
def test_random_bytes_decode_or_are_malformed(body: bytes, version: int) -> None:
    try:
        request = fetch.decode(memoryview(body), 0, version)
    except MalformedRequest:
        return
    assert len(request.partitions) + len(request.forgotten) <= len(body)
