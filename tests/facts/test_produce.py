"""Produce: acknowledgements, what one request may hold, timestamps, codecs and what is stored in the end."""

import uuid
from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record, now_ms
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

HOUR_MS = 3_600_000
ALL_CODECS = [pytest.param(codec, id=name) for codec, name in enumerate(["none", "gzip", "snappy", "lz4", "zstd"])]

pytestmark = pytest.mark.feature("F-01")


# ------------------------------------------------------------------------------------------ acknowledgements


def test_acks_0_gets_no_answer(client: RawClient, topic: str) -> None:
    """With acks=0 nothing comes back: the next answer on the connection belongs to the next request."""
    client.send("produce", 9, **client.produce_values(topic, batches.values("quiet"), acks=0))
    wait_until(lambda: client.log_end(topic) == 1, what="the record is on disk and visible")
    assert [record.value for record in client.fetch_records(topic)] == [b"quiet"]


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_acks_0_with_an_error_closes_the_connection(
    client: RawClient, topic: str, connect: Callable[[], RawClient], version: int
) -> None:
    """With acks=0 an error can only be told by closing the connection."""
    sender = connect()
    sender.send("produce", version, **client.produce_values(topic, batches.values("lost"), partition=9, acks=0))
    assert sender.closed_by_peer()


@pytest.mark.parametrize("version", [3, 8, 9, 12])
@pytest.mark.parametrize("acks", [-1, 1])
def test_acks_all_and_leader_answer_with_the_offset(client: RawClient, topic: str, acks: int, version: int) -> None:
    """acks −1 and 1 answer with the base offset, at every format of the answer."""
    for expected in range(3):
        answer = client.produce(topic, batches.values("a"), acks=acks, version=version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.none, expected)


@pytest.mark.parametrize("acks", [-2, 2, 3, 32767])
def test_other_acks_are_invalid(client: RawClient, topic: str, acks: int) -> None:
    """acks other than −1, 0 and 1 is INVALID_REQUIRED_ACKS and stores nothing."""
    assert client.produce(topic, batches.values("a"), acks=acks).error_code == ErrorCode.invalid_required_acks
    assert client.log_end(topic) == 0


def test_min_insync_replicas_above_the_replicas_does_not_block(client: RawClient) -> None:
    """`min.insync.replicas` above the replicas that really exist does not keep a single node from writing."""
    topic = client.create_topic(configs={"min.insync.replicas": "3"})
    assert client.produce(topic, batches.values("a"), acks=-1).error_code == ErrorCode.none


def test_negative_timeout_is_harmless(client: RawClient, topic: str) -> None:
    """A negative timeout does not keep a single node from acknowledging."""
    answer = client.call("produce", 9, **{**client.produce_values(topic, batches.values("a")), "timeout": -5})
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none


# ------------------------------------------------------------------------------------ one batch per partition


@pytest.mark.parametrize("version", [3, 9])
def test_two_batches_for_a_partition_are_refused(client: RawClient, topic: str, version: int) -> None:
    """More than one batch for a partition is INVALID_RECORD."""
    two = batches.values("a") + batches.values("b")
    assert client.produce(topic, two, version=version).error_code == ErrorCode.invalid_record
    assert client.log_end(topic) == 0


@pytest.mark.parametrize("version", [3, 9])
def test_no_batch_for_a_partition_is_refused(client: RawClient, topic: str, version: int) -> None:
    """No batch at all for a partition is INVALID_RECORD."""
    assert client.produce(topic, b"", version=version).error_code == ErrorCode.invalid_record


def test_base_offset_must_be_0(client: RawClient, topic: str) -> None:
    """A client's batch starts at offset 0; another base offset is INVALID_RECORD."""
    answer = client.produce(topic, batches.values("a", base_offset=5))
    assert answer.error_code == ErrorCode.invalid_record
    assert client.log_end(topic) == 0


def test_clients_may_not_write_control_batches(client: RawClient, topic: str) -> None:
    """The control bit belongs to the broker: INVALID_RECORD."""
    answer = client.produce(topic, batches.batch(attributes=batches.CONTROL))
    assert answer.error_code == ErrorCode.invalid_record
    assert client.log_end(topic) == 0


def test_one_bad_partition_does_not_hurt_the_others(client: RawClient) -> None:
    """Each partition of a request succeeds or fails alone."""
    topic = client.create_topic(partitions=2)
    values = client.produce_values(topic, batches.values("good"))
    values["topic_data"][0]["partition_data"] += [
        {"index": 1, "records": batches.values("bad", crc=1)},
        {"index": 5, "records": batches.values("nowhere")},
    ]
    answer = client.call("produce", 9, **values)
    codes = {each.index: each.error_code for each in answer.responses[0].partition_responses}
    assert codes == {
        0: ErrorCode.none,
        1: ErrorCode.corrupt_message,
        5: ErrorCode.unknown_topic_or_partition,
    }
    assert (client.log_end(topic, 0), client.log_end(topic, 1)) == (1, 0)


@pytest.mark.parametrize("version", [3, 9, 12])
def test_unknown_topic_name(client: RawClient, version: int) -> None:
    """A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION; producing never creates one."""
    answer = client.produce("never-created", batches.values("a"), version=version)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.unknown_topic_or_partition, -1)
    (found,) = client.metadata("never-created").topics
    assert found.error_code == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("topic_id", [uuid.UUID(int=0x1234), None])
def test_unknown_topic_id(client: RawClient, topic_id: uuid.UUID | None) -> None:
    """From v13 topics are named by id; an unknown one (the zero id included) is UNKNOWN_TOPIC_ID."""
    data = {"topic_id": topic_id, "partition_data": [{"index": 0, "records": batches.values("a")}]}
    answer = client.call("produce", 13, acks=-1, timeout=1000, topic_data=[data])
    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.unknown_topic_id


def test_produce_by_topic_id(client: RawClient, topic: str) -> None:
    """From v13 a topic is named by its id, and the answer names it so, too."""
    topic_id = client.topic_id(topic)
    data = {"topic_id": topic_id, "partition_data": [{"index": 0, "records": batches.values("by id")}]}
    answer = client.call("produce", 13, acks=-1, timeout=1000, topic_data=[data])
    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none
    assert [record.value for record in client.fetch_records(topic)] == [b"by id"]


def test_a_recreated_topic_refuses_the_old_id(client: RawClient, topic: str) -> None:
    """A topic that was deleted and made again has a new id, and the old one is UNKNOWN_TOPIC_ID."""
    old_id = client.topic_id(topic)
    client.delete_topic(topic)
    client.create_topic(topic)
    assert client.topic_id(topic) != old_id
    data = {"topic_id": old_id, "partition_data": [{"index": 0, "records": batches.values("stale")}]}
    answer = client.call("produce", 13, acks=-1, timeout=1000, topic_data=[data])
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.unknown_topic_id
    assert client.log_end(topic) == 0


# --------------------------------------------------------------------------------------------- what is stored


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_a_batch_is_stored_as_it_was_sent(client: RawClient, topic: str, codec: int) -> None:
    """Only base offset and leader epoch of a batch are written by the broker; records, codec and CRC stay."""
    client.appended(topic, batches.values("before"))
    records = [
        Record(key=b"k", value=b"v" * 500, headers=(("h", b"1"), ("empty", b""), ("null", None))),
        Record(key=None, value=None),
        Record(key=b"", value=b""),
    ]
    sent = batches.batch(records, codec=codec)
    assert client.appended(topic, sent) == 1
    (stored,) = client.fetch_batches(topic, 1)
    (original,) = batches.decode_batches(sent)
    assert stored.base_offset == 1
    assert stored.leader_epoch >= 0
    assert stored.crc_is_right
    assert (stored.crc, stored.attributes, stored.body) == (original.crc, original.attributes, original.body)
    assert [(record.key, record.value, record.headers) for record in stored.records] == [
        (record.key, record.value, record.headers) for record in records
    ]


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_stores_the_same(client: RawClient, topic: str, version: int) -> None:
    """From v3 on every version of Produce stores and acknowledges alike."""
    answer = client.produce(topic, batches.values("a", "b"), version=version)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.none, 0)
    if version >= 5:
        assert answer.log_start_offset == 0
    assert client.produce(topic, batches.values("c"), version=version).base_offset == 2
    assert [record.value for record in client.fetch_records(topic)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", [3, 6])
def test_zstd_needs_version_7(client: RawClient, topic: str, version: int) -> None:
    """zstd below v7 is UNSUPPORTED_COMPRESSION_TYPE."""
    answer = client.produce(topic, batches.values("a", codec=batches.CODEC_ZSTD), version=version)
    assert answer.error_code == ErrorCode.unsupported_compression_type
    assert client.log_end(topic) == 0


def test_zstd_from_version_7(client: RawClient, topic: str) -> None:
    """zstd is welcome from v7 on."""
    answer = client.produce(topic, batches.values("a", codec=batches.CODEC_ZSTD), version=7)
    assert answer.error_code == ErrorCode.none


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codec(client: RawClient, topic: str, codec: int) -> None:
    """A codec that does not exist is UNKNOWN_SERVER_ERROR."""
    answer = client.produce(topic, batches.values("a", codec=codec))
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.unknown_server_error, 0)
    assert client.log_end(topic) == 0


@pytest.mark.parametrize(("name", "codec"), [("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
def test_compression_type_of_the_topic_wins(client: RawClient, name: str, codec: int) -> None:
    """With `compression.type` set on the topic, batches are stored with that codec, whatever was sent."""
    topic = client.create_topic(configs={"compression.type": name})
    client.appended(topic, batches.values("plain", "text"))
    client.appended(topic, batches.values("zipped", codec=batches.CODEC_GZIP))
    stored = client.fetch_batches(topic)
    assert [batch.codec for batch in stored] == [codec, codec]
    assert all(batch.crc_is_right for batch in stored)
    assert [record.value for batch in stored for record in batch.records] == [b"plain", b"text", b"zipped"]


def test_lz4_that_the_broker_writes_has_independent_blocks(client: RawClient) -> None:
    """The broker compresses lz4 with independent blocks, the only kind that Java clients read."""
    topic = client.create_topic(configs={"compression.type": "lz4"})
    client.appended(topic, batches.values(b"words " * 100))
    (stored,) = client.fetch_batches(topic)
    assert stored.body[4] & batches.LZ4_INDEPENDENT_BLOCKS


# ------------------------------------------------------------------------------------------------- timestamps


def test_a_timestamp_too_far_ahead(client: RawClient, topic: str) -> None:
    """A timestamp further ahead than `message.timestamp.after.max.ms` (1 h) is INVALID_TIMESTAMP."""
    late = batches.batch([Record(timestamp_ms=now_ms() + HOUR_MS + 60_000)])
    answer = client.produce(topic, late)
    assert answer.error_code == ErrorCode.invalid_timestamp
    assert [each.batch_index for each in answer.record_errors] == [0]
    assert client.log_end(topic) == 0


@pytest.mark.parametrize("codec", [0, batches.CODEC_GZIP])
def test_records_with_a_wrong_timestamp_are_named(client: RawClient, topic: str, codec: int) -> None:
    """The first request of a connection and a repeated one say the same."""
    now = now_ms()
    assert client.produce(topic, batches.batch([Record(timestamp_ms=now)])).error_code == ErrorCode.none
    mixed = [Record(timestamp_ms=now), Record(timestamp_ms=now + 2 * HOUR_MS), Record(timestamp_ms=-1)]
    for _ in range(2):
        answer = client.produce(topic, batches.batch(mixed, codec=codec))
        assert answer.error_code == ErrorCode.invalid_timestamp
        assert [each.batch_index for each in answer.record_errors] == [1]
        assert answer.error_message
    assert client.log_end(topic) == 1


@pytest.mark.parametrize("codec", [0, batches.CODEC_GZIP])
def test_a_client_that_stamps_its_batch(client: RawClient, topic: str, codec: int) -> None:
    """On a topic of CreateTime the type LogAppendTime is taken away again, and the records keep their own times."""
    now = now_ms()
    sent = [Record(timestamp_ms=now), Record(timestamp_ms=now + 5)]
    stamped = batches.batch(sent, codec=codec, attributes=batches.LOG_APPEND_TIME)
    assert client.produce(topic, stamped).error_code == ErrorCode.none
    (stored,) = client.fetch_batches(topic)
    assert (stored.attributes, stored.crc_is_right) == (codec, True)
    assert [record.timestamp_ms for record in stored.records] == [now, now + 5]


def test_a_client_that_stamps_without_a_time(client: RawClient, topic: str) -> None:
    stamped = batches.batch([Record(timestamp_ms=-1)] * 2, attributes=batches.LOG_APPEND_TIME)
    answer = client.produce(topic, stamped)
    assert answer.error_code == ErrorCode.invalid_timestamp
    assert [each.batch_index for each in answer.record_errors] == [0, 1]


def test_a_timestamp_a_little_ahead(client: RawClient, topic: str) -> None:
    """A timestamp less than an hour ahead is fine."""
    soon = batches.batch([Record(timestamp_ms=now_ms() + HOUR_MS - 60_000)])
    assert client.produce(topic, soon).error_code == ErrorCode.none


def test_timestamp_limits_are_topic_configs(client: RawClient) -> None:
    """`message.timestamp.before.max.ms` and `.after.max.ms` set what a topic accepts."""
    topic = client.create_topic(
        configs={
            "message.timestamp.before.max.ms": str(HOUR_MS),
            "message.timestamp.after.max.ms": str(10 * HOUR_MS),
        }
    )
    old = batches.batch([Record(timestamp_ms=now_ms() - 2 * HOUR_MS)])
    ahead = batches.batch([Record(timestamp_ms=now_ms() + 9 * HOUR_MS)])
    assert client.produce(topic, old).error_code == ErrorCode.invalid_timestamp
    assert client.produce(topic, ahead).error_code == ErrorCode.none


def test_create_time_is_kept(client: RawClient) -> None:
    """A topic keeps the producer's timestamps unless told otherwise, and the answer holds no append time."""
    topic = client.create_topic(configs={"retention.ms": "-1"})
    times = [1_000, 3_000, 2_000]
    answer = client.produce(topic, batches.batch([Record(timestamp_ms=time) for time in times]))
    assert answer.log_append_time is None
    assert [record.timestamp_ms for record in client.fetch_records(topic)] == times


def test_log_append_time(client: RawClient) -> None:
    """With LogAppendTime the broker's clock is written into batch and answer, and the CRC is right."""
    topic = client.create_topic(configs={"message.timestamp.type": "LogAppendTime"})
    before = now_ms()
    answer = client.produce(topic, batches.batch([Record(timestamp_ms=5), Record(timestamp_ms=before + 10**9)]))
    after = now_ms()
    assert answer.error_code == ErrorCode.none
    appended_ms = round(answer.log_append_time.timestamp() * 1000)
    assert before <= appended_ms <= after
    (stored,) = client.fetch_batches(topic)
    assert stored.attributes & batches.LOG_APPEND_TIME
    assert stored.crc_is_right
    assert [record.timestamp_ms for record in stored.records] == [appended_ms, appended_ms]


# ------------------------------------------------------------------------------------------- compacted topics


@pytest.mark.parametrize("version", [3, 7, 8, 9, 12])
def test_keyless_records_on_a_compacted_topic(client: RawClient, version: int) -> None:
    """One record without a key refuses the whole batch (INVALID_RECORD); from v8 each bad record is named."""
    topic = client.create_topic(configs={"cleanup.policy": "compact"})
    records = [Record(key=b"k"), Record(key=None), Record(key=b"k"), Record(key=None)]
    answer = client.produce(topic, batches.batch(records), version=version)
    assert answer.error_code == ErrorCode.invalid_record
    if version >= 8:
        assert [each.batch_index for each in answer.record_errors] == [1, 3]
        assert all(each.batch_index_error_message for each in answer.record_errors)
        assert answer.error_message
    assert client.log_end(topic) == 0


def test_keyless_records_inside_a_compressed_batch(client: RawClient) -> None:
    """Compression does not hide a missing key from a compacted topic."""
    topic = client.create_topic(configs={"cleanup.policy": "compact,delete"})
    answer = client.produce(topic, batches.batch([Record(key=None)], codec=batches.CODEC_GZIP))
    assert answer.error_code == ErrorCode.invalid_record


def test_keyed_records_and_tombstones_on_a_compacted_topic(client: RawClient) -> None:
    """Records with a key, tombstones included, are welcome on a compacted topic."""
    topic = client.create_topic(configs={"cleanup.policy": "compact"})
    assert client.appended(topic, batches.batch([Record(key=b"k"), Record(key=b"k", value=None)])) == 0
