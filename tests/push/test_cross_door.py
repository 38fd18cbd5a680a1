"""One log, two doors: Kafka clients read what is published here, and the other way round; positions are offsets."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from penstock.model.batch_builder import NewRecord, build_batch
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Data, Verdict
from tests.push.conftest import Connect
from tests.support.batches import now_ms
from tests.support.group_client import commit, fetch_offsets, join
from tests.support.metrics_page import metric, page
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-09", "P-16", "Q-05")


@pytest.fixture
def kafka(node: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(node.host, node.port) as client:
        yield client


def produce(kafka: RawClient, topic: str, *records: NewRecord, **batch: Any) -> None:
    kafka.appended(topic, bytes(build_batch(records, timestamp=now_ms(), **batch)))


def offset_of(kafka: RawClient, group: str, topic: str) -> int:
    answer = fetch_offsets(kafka, group, {topic: [0]})
    return int(answer.topics[0].partitions[0].committed_offset)


@pytest.mark.feature("Q-04")
def test_published_is_read_by_kafka_with_key_headers_and_time(client: PushClient, kafka: RawClient, topic: str) -> None:
    properties = ((b"a", b"1"), (b"a", b"2"), (b"odd=%", b"\x00\xff"), (b"null", None))
    client.publish(topic, b"body", key=b"key", properties=properties, timestamp=1_700_000_000_000)
    client.ask(m.Publish("", 0, -1, topic, 0, b"", None))
    first, second = kafka.fetch_records(topic)
    assert (first.key, first.value, first.timestamp_ms) == (b"key", b"body", 1_700_000_000_000)
    assert [(name.encode(), value) for name, value in first.headers] == list(properties)
    assert (second.key, second.value) == (b"", None)


@pytest.mark.feature("Q-04")
@pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_produced_is_pushed_with_key_headers_and_time(
    client: PushClient, kafka: RawClient, topic: str, codec: int
) -> None:
    records = [
        NewRecord(b"k", b"v", (("h", b"1"), ("n", None)), 1_700_000_000_000),
        NewRecord(None, None, (), 1_700_000_000_001),
        NewRecord(b"", b"x" * 70_000, (), 1_700_000_000_002),
    ]
    produce(kafka, topic, *records, codec=codec)
    client.ask(m.Subscribe("", topic, f"codec-{codec}"))
    got = client.items(3)
    assert [(item.key, item.body, item.timestamp) for item in got] == [(r.key, r.value, r.timestamp) for r in records]
    assert got[0].properties == ((b"h", b"1"), (b"n", None))


def test_a_batch_of_thousands_is_pushed_in_order(client: PushClient, kafka: RawClient, topic: str) -> None:
    produce(kafka, topic, *[NewRecord(None, b"%d" % number) for number in range(3000)], codec=4)
    client.ask(m.Subscribe("", topic, "thousands"))
    assert [int(item.body or b"") for item in client.items(3000)] == list(range(3000))


def test_only_committed_transactions_are_pushed(client: PushClient, kafka: RawClient, topic: str) -> None:
    client.ask(m.Subscribe("", topic, "committed"))
    transaction = TransactionClient(kafka, f"{topic}-id", V2)
    transaction.find_coordinator()
    transaction.init()
    transaction.send(topic, "aborted 1", "aborted 2")
    transaction.abort()
    transaction.send(topic, "kept")
    assert client.is_silent(0.2)
    transaction.commit()
    (item,) = client.data().items
    assert item.body == b"kept"
    client.acknowledge(Data("committed", topic, (item,)))
    wait_until(
        lambda: offset_of(kafka, "committed", topic) == kafka.log_end(topic), what="the position passes the markers"
    )


def test_the_position_is_the_groups_offset_and_its_lag_is_a_metric(
    client: PushClient, kafka: RawClient, node: PenstockProcess, topic: str
) -> None:
    client.publish(topic, *[b"x"] * 6)
    client.ask(m.Subscribe("", topic, "lagging"))
    data = client.data()
    assert offset_of(kafka, "lagging", topic) == 0, "nothing moves on send alone"
    client.acknowledge(data, Verdict.DONE, data.items[0], data.items[1], data.items[3])
    wait_until(lambda: offset_of(kafka, "lagging", topic) == 2, what="the lowest unacknowledged offset")
    answer = fetch_offsets(kafka, "lagging", {topic: [0]})
    assert answer.topics[0].partitions[0].metadata == "", "what is stored with it is ours"
    lag = [line for line in page(node).splitlines() if line.startswith("penstock_consumer_lag{") and "lagging" in line]
    assert [float(line.split()[-1]) for line in lag] == [4.0]


def test_a_live_subscription_is_an_active_group(client: PushClient, kafka: RawClient, topic: str) -> None:
    client.publish(topic, b"x")
    client.ask(m.Subscribe("", topic, "active", client_id="till-7"))
    assert client.data().items[0].offset == 0
    (described,) = kafka.call("describe_groups", 5, groups=["active"], include_authorized_operations=False).groups
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "push")
    (member,) = described.members
    assert (member.client_id, member.client_host) == ("till-7", "127.0.0.1")
    listed = {group.group_id: group.group_state for group in kafka.call("list_groups", 4, states_filter=[]).groups}
    assert listed["active"] == "Stable"
    assert join(kafka, "active").error_code == ErrorCode.inconsistent_group_protocol
    assert commit(kafka, "active", topic, 1) == ErrorCode.unknown_member_id
    (deleted,) = kafka.call("delete_groups", 2, groups_names=["active"]).results
    assert deleted.error_code == ErrorCode.non_empty_group
    removed = kafka.call(
        "offset_delete", 0, group_id="active", topics=[{"name": topic, "partitions": [{"partition_index": 0}]}]
    )
    assert removed.topics[0].partitions[0].error_code == ErrorCode.group_subscribed_to_topic
    client.ask(m.Unsubscribe("active"))
    (described,) = kafka.call("describe_groups", 5, groups=["active"], include_authorized_operations=False).groups
    assert (described.group_state, len(described.members)) == ("Empty", 0)
    assert commit(kafka, "active", topic, 1) == ErrorCode.none
    client.ask(m.Subscribe("active"))
    client.publish(topic, b"y")
    assert client.data().items[0].offset == 1, "what a Kafka client committed meanwhile counts"


def test_a_group_with_kafka_members_cannot_be_subscribed_to(
    client: PushClient, connect: Connect, kafka: RawClient, topic: str
) -> None:
    client.ask(m.CreateSubscription("contended", topic))
    joined = join(kafka, "contended", version=3)
    assert joined.error_code == ErrorCode.none
    with pytest.raises(PushRefused, match="Kafka members") as refused:
        client.ask(m.Subscribe("contended"))
    assert refused.value.code == ErrorCode.inconsistent_group_protocol
    with pytest.raises(PushRefused, match="Kafka members"):
        client.ask(m.Subscribe("", topic, "contended"))


@pytest.mark.feature("P-23")
def test_the_topics_time_to_live_and_the_messages_own_the_smaller_wins(
    client: PushClient, kafka: RawClient, topic: str
) -> None:
    name = kafka.create_topic(f"{topic}-ttl", configs={"message.ttl.ms": "60000"})
    now = now_ms()
    client.publish(name, b"too old for the topic", timestamp=now - 120_000)
    client.publish(name, b"young enough", timestamp=now - 1_000)
    client.publish(name, b"its own says no", timestamp=now - 30_000, properties=((b"ttl-ms", b"10000"),))
    client.publish(name, b"the topic says no", timestamp=now - 120_000, properties=((b"ttl-ms", b"9000000"),))
    client.ask(m.Subscribe("", name, "ttl-topic"))
    assert [item.body for item in client.data().items] == [b"young enough"]
    assert client.is_silent(0.2)
    assert len(kafka.fetch_records(name)) == 4, "a plain fetch still shows them"


def test_a_deleted_topic_ends_its_subscriptions_and_a_new_one_starts_from_the_beginning(
    client: PushClient, connect: Connect, kafka: RawClient, topic: str
) -> None:
    client.publish(topic, b"old", b"old")
    member = connect()
    member.ask(m.Subscribe("", topic, "orphan"))
    member.items(2)
    kafka.delete_topic(topic)
    assert "was deleted" in member.ends()[-1].message
    with pytest.raises(PushRefused, match="create-topic"):
        client.ask(m.Subscribe("orphan"))
    client.ask(m.CreateTopic(topic, 1))
    client.publish(topic, b"new")
    client.ask(m.Subscribe("orphan"))
    (item,) = client.data().items
    assert (item.offset, item.body) == (0, b"new")


def test_partitions_that_are_added_are_read_from_their_beginning(
    client: PushClient, connect: Connect, kafka: RawClient, topic: str
) -> None:
    reader = connect()
    reader.ask(m.Subscribe("", topic, "grows"))
    added = {"name": topic, "count": 2, "assignments": None}
    (result,) = kafka.call("create_partitions", 2, topics=[added], timeout=10_000, validate_only=False).results
    assert result.error_code == ErrorCode.none
    client.publish(topic, b"there", partition=1)
    (item,) = reader.data().items
    assert (item.partition, item.offset, item.body) == (1, 0, b"there")


def test_messages_of_every_door_are_counted_once(
    client: PushClient, kafka: RawClient, node: PenstockProcess, topic: str
) -> None:
    before = metric(node, "penstock_messages_in_total")
    client.publish(topic, b"with a sequence")
    client.ask(m.Publish("", 0, -1, topic, 0, b"", b"without a sequence"))
    produce(kafka, topic, NewRecord(None, b"produced"), NewRecord(None, b"produced"))
    for _ in range(2):  # the second one takes the repeat path
        produce(kafka, topic, NewRecord(None, b"again"))
    url = f"http://{node.host}:{node.http_port}/api/v1/topics/{topic}/messages"
    request = urllib.request.Request(url, b'{"value": "over HTTP"}', {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status in (200, 201)
    assert metric(node, "penstock_messages_in_total") - before == 7
