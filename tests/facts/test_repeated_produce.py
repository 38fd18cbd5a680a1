"""Requests like the one before them on a connection: what has changed between two of them counts for the second."""

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01", "F-12")

TOPIC_RESOURCE = 2
SET = 0


def set_config(client: RawClient, topic: str, name: str, value: str) -> None:
    change = {"name": name, "config_operation": SET, "value": value}
    resource = {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configs": [change]}
    answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    assert answer.responses[0].error_code == ErrorCode.none


def produce_until(client: RawClient, topic: str, records: bytes, wanted: ErrorCode) -> None:
    """Kafka's brokers learn of a config a moment after it was accepted."""
    wait_until(lambda: client.produce(topic, records).error_code == wanted, what="the config to be obeyed")


def test_offsets_and_contents(client: RawClient, topic: str) -> None:
    """The same request again and again is stored each time, with ascending offsets."""
    for version in (3, 5, 8, 9, 12):
        first = client.log_end(topic)
        assert [client.appended(topic, batches.values(str(n)), version=version) for n in range(5)] == list(
            range(first, first + 5)
        )
    assert [record.value for record in client.fetch_records(topic)] == [str(n).encode() for n in range(5)] * 5


def test_a_bad_batch_between_good_ones(client: RawClient, topic: str) -> None:
    """A batch that is refused changes nothing, and the next good one is welcome."""
    assert client.appended(topic, batches.values("a")) == 0
    assert client.appended(topic, batches.values("b")) == 1
    broken = bytearray(batches.values("c"))
    broken[-1] ^= 1
    assert client.produce(topic, bytes(broken)).error_code == ErrorCode.corrupt_message
    assert client.produce(topic, b"").error_code == ErrorCode.invalid_record
    assert client.appended(topic, batches.values("d")) == 2
    assert [record.value for record in client.fetch_records(topic)] == [b"a", b"b", b"d"]


def test_other_partitions_and_acks_in_between(client: RawClient) -> None:
    """A request to another partition, or with other acks, is not taken for the one before."""
    topic = client.create_topic(partitions=2)
    for n in range(4):
        assert client.appended(topic, batches.values("x"), partition=0) == n
        assert client.appended(topic, batches.values("y"), partition=1) == n
    assert client.produce(topic, batches.values("z"), acks=1).base_offset == 4
    assert client.produce(topic, batches.values("z"), acks=7).error_code == ErrorCode.invalid_required_acks
    assert client.log_end(topic, 0) == 5
    assert client.log_end(topic, 1) == 4


def test_a_topic_that_is_deleted_and_made_again(client: RawClient) -> None:
    """The name leads to the new topic, from its offset 0 on."""
    topic = client.create_topic()
    assert [client.appended(topic, batches.values("old")) for _ in range(3)] == [0, 1, 2]
    client.delete_topic(topic)
    answer = client.produce(topic, batches.values("nowhere"))
    assert answer.error_code == ErrorCode.unknown_topic_or_partition
    client.create_topic(name=topic)
    assert client.appended(topic, batches.values("new")) == 0
    assert [record.value for record in client.fetch_records(topic)] == [b"new"]


def test_configs_that_change(client: RawClient, topic: str) -> None:
    """A smaller `max.message.bytes`, a cleanup policy that wants keys, another timestamp type: obeyed at once."""
    large = batches.values(b"x" * 3000)
    client.appended(topic, large)
    client.appended(topic, large)
    set_config(client, topic, "max.message.bytes", "2000")
    produce_until(client, topic, large, ErrorCode.message_too_large)
    set_config(client, topic, "max.message.bytes", "20000")
    produce_until(client, topic, large, ErrorCode.none)
    set_config(client, topic, "cleanup.policy", "compact")
    produce_until(client, topic, large, ErrorCode.invalid_record)
    set_config(client, topic, "cleanup.policy", "delete")
    produce_until(client, topic, large, ErrorCode.none)
    set_config(client, topic, "compression.type", "gzip")
    wait_until(lambda: stored_codec(client, topic, large) == batches.CODEC_GZIP, what="gzip to be used")


def stored_codec(client: RawClient, topic: str, records: bytes) -> int:
    return client.fetch_batches(topic, client.appended(topic, records))[-1].codec


def test_duplicates_keep_their_offsets(client: RawClient, topic: str) -> None:
    """A repeated batch of an idempotent producer, sent in a repeated request, is stored once."""
    producer_id, epoch = client.new_producer_id()
    sent = [batches.idempotent(producer_id, epoch, sequence) for sequence in range(4)]
    assert [client.appended(topic, records) for records in sent] == [0, 1, 2, 3]
    assert [client.appended(topic, records) for records in sent] == [0, 1, 2, 3]
    gap = client.produce(topic, batches.idempotent(producer_id, epoch, 9))
    assert gap.error_code == ErrorCode.out_of_order_sequence_number
    assert client.log_end(topic) == 4
