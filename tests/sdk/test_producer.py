"""`penstock.Producer`: what is sent arrives as it was meant, and what cannot be sent says why."""

from __future__ import annotations

import gc
import json
import threading
import time
import warnings
from collections import Counter
from functools import partial
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from penstock import Admin, Producer
from penstock.sdk import (
    Avro,
    BrokerError,
    ClosedError,
    Json,
    MessageTooLarge,
    NotFound,
    QueueFull,
    SerializationError,
    SettingsError,
    Undelivered,
    Unreachable,
)
from tests.sdk.conftest import NewTopic
from tests.support.broker_process import HOST, BrokerProcess, free_port
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
}


class Order(BaseModel):
    id: int
    item: str


@pytest.fixture
def nobody() -> str:
    """An address without a listener."""
    return f"{HOST}:{free_port()}"


@pytest.mark.feature("K-19")
def test_a_future_has_the_place_and_the_time(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    before_ms = time.time() * 1000 - 1
    with Producer(bootstrap) as producer:
        first = producer.send(topic, b"one", partition=1)
        second = producer.send(topic, b"two", key=b"k", headers={"trace": "7", "empty": None}, partition=1)
        producer.flush()
        assert (first.result(0).topic, first.result(0).partition, first.result(0).offset) == (topic, 1, 0)
        assert second.result(0).offset == 1
        assert before_ms <= second.result(0).timestamp_ms <= time.time() * 1000 + 1
    found = topic_contents(bootstrap, topic)
    assert [(each.partition, each.offset, each.key, each.value) for each in found] == [
        (1, 0, None, b"one"),
        (1, 1, b"k", b"two"),
    ]
    assert found[1].headers == (("trace", b"7"), ("empty", None))
    assert found[1].time_ms == second.result(0).timestamp_ms


def test_a_time_of_ones_own(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    moment_ms = round((time.time() - 86_400) * 1000)
    with Producer(bootstrap) as producer:
        assert producer.send(topic, b"", timestamp_ms=moment_ms).result(30).timestamp_ms == moment_ms
    assert topic_contents(bootstrap, topic)[0].time_ms == moment_ms


# --- partitioners ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-01", "K-19")
def test_by_key_as_java_does(bootstrap: str, new_topic: NewTopic) -> None:
    """murmur2("foo") and the others, from Kafka's own tests of its hash."""
    topic = new_topic(7)
    known = {
        b"21": -973932308,
        b"foobar": -790332482,
        b"a-little-bit-long-string": -985981536,
        b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    }
    with Producer(bootstrap, linger_ms=0) as producer:
        futures = {key: producer.send(topic, b"", key=key) for key in known}
        for key, murmur2 in known.items():
            assert futures[key].result(30).partition == (murmur2 & 0x7FFFFFFF) % 7, key


@pytest.mark.feature("K-01", "K-19")
def test_round_robin(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(3)
    with Producer(bootstrap, partitioner="round-robin", linger_ms=5) as producer:
        futures = [producer.send(topic, b"%d" % number, key=b"always the same") for number in range(12)]
        producer.flush()
    assert [future.result().partition for future in futures] == [0, 1, 2] * 4


@pytest.mark.feature("K-01", "K-19")
def test_a_partitioner_of_ones_own(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(3)

    def by_length(name: str, key: bytes | None, partition_count: int) -> int:
        assert (name, partition_count) == (topic, 3)
        return len(key or b"") % partition_count

    with Producer(bootstrap, partitioner=by_length, linger_ms=0) as producer:
        assert [producer.send(topic, b"", key=b"x" * size).result(30).partition for size in (1, 2, 3, 4)] == [
            1,
            2,
            0,
            1,
        ]
    with (
        Producer(bootstrap, partitioner=lambda *_: 3) as wrong,
        pytest.raises(SettingsError, match=r"chose 3 .* return a number from 0 to 2"),
    ):
        wrong.send(topic, b"")


# --- batches, acknowledgements, queue --------------------------------------------------------------------------------


@pytest.mark.feature("K-02", "K-19")
def test_the_defaults_are_batches_of_16_kib_and_100_ms(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        assert producer.options["batch_size"] == 16384
        assert producer.options["linger_ms"] == 100
        begin = time.monotonic()
        producer.send(topic, b"alone").result(30)
        assert time.monotonic() - begin >= 0.095, "it did not wait for others"
        begin = time.monotonic()
        for _ in range(100):
            producer.send(topic, b"x" * 300)
        producer.flush()
    assert [each.offset for each in topic_contents(bootstrap, topic)] == list(range(101))


@pytest.mark.feature("K-02", "K-19")
def test_sends_are_tried_again_until_a_broker_is_there(own_broker: BrokerProcess) -> None:
    if not own_broker.is_durable:
        pytest.skip("needs a broker that knows its topics after a restart")
    with Admin(own_broker.bootstrap) as admin:
        admin.create_topic("retried")
    with Producer(own_broker.bootstrap, linger_ms=0) as producer:
        producer.send("retried", b"before").result(30)
        own_broker.stop()
        during = [producer.send("retried", b"%d" % number) for number in range(5)]
        time.sleep(6)  # longer than it takes to give up a broker that was never there
        own_broker.start()
        assert [future.result(60).offset for future in during] == [1, 2, 3, 4, 5]
    assert [each.value for each in topic_contents(own_broker.bootstrap, "retried")] == [
        b"before",
        b"0",
        b"1",
        b"2",
        b"3",
        b"4",
    ]


@pytest.mark.feature("K-03", "K-19")
@pytest.mark.parametrize("acks", ["none", "leader", "all"])
def test_acknowledgements(bootstrap: str, new_topic: NewTopic, acks: Literal["none", "leader", "all"]) -> None:
    topic = new_topic()
    with Producer(bootstrap, acks=acks, linger_ms=0) as producer:
        assert producer.send(topic, b"sent").result(30).offset == (None if acks == "none" else 0)
    wait_until(lambda: [each.value for each in topic_contents(bootstrap, topic)] == [b"sent"], what="it is there")


@pytest.mark.feature("K-19")
def test_a_full_queue_makes_send_wait_and_then_fail(nobody: str) -> None:
    producer = Producer(nobody, queue_messages=3, queue_timeout_ms=300, linger_ms=0)
    for _ in range(3):
        producer.send("t", b"waits")
    begin = time.monotonic()
    with pytest.raises(QueueFull, match=r"3 messages.* full for 300 ms.*raise queue_messages"):
        producer.send("t", b"one too many")
    assert 0.3 <= time.monotonic() - begin < 20
    with pytest.raises(Undelivered, match=r"3 messages were not delivered within 0\.1 s"):
        producer.close(0.1)


def test_room_in_the_queue_is_waited_for(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap, queue_messages=10, linger_ms=0) as producer:
        futures = [producer.send(topic, b"%d" % number) for number in range(200)]
    assert [future.result().offset for future in futures] == list(range(200))


def test_several_threads(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap, linger_ms=1) as producer:

        def work(name: int) -> None:
            for number in range(100):
                producer.send(topic, b"%d-%d" % (name, number))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = Counter(each.value for each in topic_contents(bootstrap, topic))
    assert found == Counter(b"%d-%d" % (name, number) for name in range(4) for number in range(100))


# --- what fails ------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-19")
def test_nobody_there(nobody: str) -> None:
    with Producer(nobody, delivery_timeout_ms=300, linger_ms=0) as producer:
        future = producer.send("t", b"lost")
        with pytest.raises(Unreachable, match="check that a broker runs there"):
            future.result(30)
        producer.flush()  # somebody knows, so nothing more is said


def test_a_wrong_address_is_found_within_seconds_and_named(capfd: pytest.CaptureFixture[str]) -> None:
    """It took the whole delivery timeout of two minutes, and the error did not say where."""
    address, began = f"{HOST}:{free_port()}", time.monotonic()
    told = (
        rf"message to t: no Kafka broker answered at {address} within 5 s \(connection refused\): check that a broker"
    )
    with Producer(address) as producer:
        for _ in range(2):
            with pytest.raises(Unreachable, match=told):
                producer.send("t", b"lost").result(60)
    assert time.monotonic() - began < 50, "5 s for each, and time for a busy machine"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("options", [{"partitioner": "round-robin"}, {"transactional_id": "t"}])
def test_a_wrong_address_is_named_by_requests_before_the_first_message(options: Any) -> None:
    address = f"{HOST}:{free_port()}"
    told = rf"^no Kafka broker answered at {address} within 0.5 s"
    with Producer(address, request_timeout_ms=500, **options) as producer:
        first = producer.transactional.begin if "transactional_id" in options else partial(producer.send, "t", b"lost")
        with pytest.raises(Unreachable, match=told):
            first()


def test_a_broker_that_comes_in_time_gets_the_messages(own_broker: BrokerProcess) -> None:
    own_broker.stop()
    with Producer(own_broker.bootstrap, request_timeout_ms=60_000) as producer:
        future = producer.send("early", b"early")
        own_broker.start()
        assert future.result(60).offset == 0


def test_closing_does_not_wait_for_a_first_contact(nobody: str) -> None:
    producer = Producer(nobody, request_timeout_ms=60_000)
    future = producer.send("t", b"lost")
    time.sleep(1)
    began = time.monotonic()
    with pytest.raises(Undelivered, match=r"1 message was not delivered within 0.1 s"):
        producer.close(0.1)
    assert time.monotonic() - began < 20
    with pytest.raises(BrokerError, match="given up when the producer was closed"):
        future.result(0)


def test_a_failure_that_nobody_looked_at_is_told_of(nobody: str) -> None:
    producer = Producer(nobody, delivery_timeout_ms=300, linger_ms=0)
    producer.send("t", b"lost")
    producer.send("t", b"lost as well")
    with pytest.raises(Undelivered, match=r"2 messages were not delivered.*send it again"):
        producer.close()


def test_the_error_within_says_more(nobody: str) -> None:
    def run() -> None:
        with Producer(nobody, delivery_timeout_ms=300, linger_ms=0) as producer:
            producer.send("t", b"lost")
            raise KeyError

    with pytest.raises(KeyError):
        run()


def test_a_partition_that_does_not_exist(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap, linger_ms=0, delivery_timeout_ms=5_000) as producer:
        producer.send(topic, b"").result(30)
        with pytest.raises(NotFound, match=topic):
            producer.send(topic, b"", partition=9).result(30)


def test_too_large(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with (
        Producer(bootstrap, max_message_bytes=10_000) as producer,
        pytest.raises(MessageTooLarge, match="raise max_message_bytes"),
    ):
        producer.send(topic, bytes(20_000))


@pytest.mark.feature("K-19")
def test_closed(bootstrap: str, new_topic: NewTopic) -> None:
    producer = Producer(bootstrap)
    producer.close()
    producer.close()
    for use in (lambda: producer.send("t", b""), producer.flush, lambda: producer.transaction().__enter__()):
        with pytest.raises(ClosedError, match="closed: make a new one"):
            use()


def test_one_that_nobody_closed_warns(bootstrap: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        producer = Producer(bootstrap)
        del producer
        gc.collect()
    assert [
        str(each.message) for each in caught if each.category is ResourceWarning and "producer" in str(each.message)
    ]


# --- serializers -----------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-04", "K-19")
@pytest.mark.parametrize(
    ("serializer", "value", "expected"),
    [
        ("bytes", b"\x00\xff", b"\x00\xff"),
        ("text", "grün", "grün".encode()),
        ("json", {"id": 1, "items": ["a", None]}, b'{"id":1,"items":["a",null]}'),
        (Json(), [1], b"[1]"),
        (Order, Order(id=1, item="nail"), b'{"id":1,"item":"nail"}'),
        (Avro(ORDER), {"id": 1, "item": "nail"}, b"\x02\x08nail"),
        (Avro(json.dumps(ORDER)), {"id": -1, "item": ""}, b"\x01\x00"),
        (lambda value: value.hex().encode(), b"\x01", b"01"),
        ("json", None, None),
    ],
)
def test_serializers(bootstrap: str, new_topic: NewTopic, serializer: Any, value: Any, expected: bytes | None) -> None:
    topic = new_topic()
    with Producer(bootstrap, value_serializer=serializer, key_serializer=serializer, linger_ms=0) as producer:
        producer.send(topic, value, key=value)
    (found,) = topic_contents(bootstrap, topic)
    assert (found.key, found.value) == (expected, expected)


@pytest.mark.feature("K-04", "K-19")
@pytest.mark.parametrize(
    ("serializer", "value", "message"),
    [
        ("bytes", {"id": 1}, r"dict is not bytes; choose another serializer, such as 'json'"),
        ("bytes", "text", "str is not bytes"),
        ("text", 7, r"int is not a string; pass str\(…\)"),
        ("text", "\ud800", "surrogates not allowed"),
        ("json", object(), "not JSON serializable"),
        ("json", float("nan"), "not JSON compliant"),
        (Order, {"id": 1}, "dict is not a Order"),
        (Avro(ORDER), {"id": "one", "item": "nail"}, "Order.id"),
        (Avro(ORDER), {"id": 1}, "Order.item|missing|item"),
        (Avro(ORDER), {"id": 1, "item": "nail", "more": 1}, "more"),
        (lambda value: "no bytes", b"", "the value_serializer returned str: a serializer returns bytes"),
    ],
)
def test_values_that_serializers_refuse(nobody: str, serializer: Any, value: Any, message: str) -> None:
    producer = Producer(nobody, value_serializer=serializer)
    with pytest.raises(SerializationError, match=message) as caught:
        producer.send("orders", value)
    assert (caught.value.topic, caught.value.part) == ("orders", "value")
    producer.close()


def test_keys_headers_and_topics_that_are_none(nobody: str) -> None:
    producer: Producer[Any] = Producer(nobody, key_serializer="text")
    with pytest.raises(SerializationError, match=r"the key cannot be serialized.*choose another key_serializer"):
        producer.send("orders", b"", key=7)
    with pytest.raises(SerializationError, match="headers are names with strings, bytes or None"):
        producer.send("orders", b"", headers={"n": 1})  # type: ignore[dict-item]
    wrong: Any
    for wrong in ([1], 7, "ab", {"\ud800": "x"}, {"x": "\ud800"}, {"x\0y": "x"}, [("a", "b", "c")]):
        with pytest.raises(SerializationError, match="headers are names with strings, bytes or None"):
            producer.send("orders", b"", headers=wrong)
    for wrong in ("", 7, None, "\ud800", "a\0b"):
        with pytest.raises(SerializationError, match="is not a topic: give its name"):
            producer.send(wrong, b"")
    producer.close()


def test_partitions_and_times_that_are_none(nobody: str) -> None:
    producer: Producer[Any] = Producer(nobody)
    wrong: Any
    for wrong in (-1, "0", 1.5, True, 1 << 31):
        with pytest.raises(SettingsError, match=f"partition={wrong!r}: give a number from 0 to 2147483647"):
            producer.send("orders", b"", partition=wrong)
    for wrong in (0, -1, "now", 1 << 63):
        with pytest.raises(SettingsError, match=f"timestamp_ms={wrong!r}: give a number from 1 to"):
            producer.send("orders", b"", timestamp_ms=wrong)
    producer.close()
