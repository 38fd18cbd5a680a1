"""The hand-written Produce codec against kio, which is generated from Kafka's own schemas."""

import datetime
import struct
import uuid
from typing import Any

import kio.index
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.static.constants import EntityType

from penstock.protocol.kafka import produce
from penstock.protocol.kafka.messages import encode, response_reader
from penstock.protocol.kafka.primitives import MalformedRequest

VERSIONS = range(3, 14)
TOPIC_ID = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def kio_request(version: int, topics: list[tuple[str, list[tuple[int, bytes | None]]]], acks: int = -1) -> bytes:
    module: Any = kio.index.load_payload_module(0, version, EntityType.request)
    entities = []
    for name, partitions in topics:
        data = tuple(module.PartitionProduceData(index=index, records=records) for index, records in partitions)
        key = {"topic_id": TOPIC_ID} if version >= 13 else {"name": name}
        entities.append(module.TopicProduceData(**key, partition_data=data))
    request = module.ProduceRequest(
        transactional_id="tx", acks=acks, timeout=datetime.timedelta(seconds=1), topic_data=tuple(entities)
    )
    return encode(request)


@pytest.mark.feature("F-01")
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_of_every_version_decode_to_what_kio_encoded(version: int) -> None:
    body = kio_request(version, [("prices", [(0, b"abc"), (7, None)]), ("other", [(1, b"x" * 300)])])
    request = produce.decode(memoryview(b"head" + body), 4, version)
    assert (request.transactional_id, request.acks, request.timeout_ms) == ("tx", -1, 1000)
    names: list[str | bytes] = ["prices", "prices", "other"] if version < 13 else [TOPIC_ID.bytes] * 3
    found = [(data.topic, data.partition, data.records and bytes(data.records)) for data in request.partitions]
    assert found == list(zip(names, (0, 7, 1), (b"abc", None, b"x" * 300), strict=True))


@pytest.mark.feature("F-01")
@pytest.mark.parametrize("version", VERSIONS)
def test_answers_of_every_version_are_what_kio_reads(version: int) -> None:
    topic: str | bytes = TOPIC_ID.bytes if version >= 13 else "prices"
    errors = (produce.RecordError(3, "no key"), produce.RecordError(4, None))
    results = [
        produce.PartitionResult(topic, 0, 0, 42, -1, 7),
        produce.PartitionResult(topic, 1, 87, -1, -1, -1, errors, "bad records"),
    ]
    body = bytes(produce.encode_response(results, version, throttle_ms=5))
    answer, end = response_reader(0, version)(body, 0)
    assert end == len(body)
    assert answer.throttle_time == datetime.timedelta(milliseconds=5)
    good, bad = answer.responses[0].partition_responses
    assert (good.index, good.error_code, good.base_offset) == (0, KioErrorCode.none, 42)
    assert (bad.index, bad.error_code, bad.base_offset) == (1, KioErrorCode.invalid_record, -1)
    if version >= 5:
        assert good.log_start_offset == 7
    if version >= 8:
        assert bad.error_message == "bad records"
        assert [(e.batch_index, e.batch_index_error_message) for e in bad.record_errors] == [(3, "no key"), (4, None)]


@given(st.data())
def test_a_request_cut_anywhere_is_malformed_or_shorter_but_never_reads_outside(data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(list(VERSIONS)))
    body = kio_request(version, [("prices", [(0, b"abc" * 20)])])
    cut = data.draw(st.integers(0, len(body) - 2 if version >= 9 else len(body) - 1))
    with pytest.raises(MalformedRequest):
        produce.decode(memoryview(body[:cut]), 0, version)


@given(st.binary(max_size=200), st.sampled_from(list(VERSIONS)))
def test_random_bytes_decode_or_are_malformed(body: bytes, version: int) -> None:
    try:
        request = produce.decode(memoryview(body), 0, version)
    except MalformedRequest:
        return
    assert sum(len(data.records or b"") for data in request.partitions) <= len(body)


def test_topics_without_partitions_count() -> None:
    """A request that is all topics would be read at once, however many they are."""
    topics = [struct.pack(">h1si", 1, b"t", 0)] * 11
    body = struct.pack(">hhii", -1, -1, 0, len(topics)) + b"".join(topics)
    assert produce.decode(memoryview(body), 0, 3, partitions_max=11).partitions == []
    with pytest.raises(produce.WideRequest):
        produce.decode(memoryview(body), 0, 3, partitions_max=10)
