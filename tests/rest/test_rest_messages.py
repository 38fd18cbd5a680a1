"""Messages over the admin API: a look at any of them, and one that is on disk when it is acknowledged."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.model.murmur2 import partition_of
from tests.rest.conftest import Rest
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.topic_contents import topic_contents
from tests.support.transaction_client import V2, TransactionClient

pytestmark = pytest.mark.feature("K-18")


def peek(rest: Rest, topic: str, query: str = "", partition: int = 0) -> Any:
    return rest.ok("GET", f"/topics/{topic}/partitions/{partition}/messages?{query}")


def values(page: Any) -> list[str]:
    return [message["value"] for message in page["messages"]]


def produce(process: PenstockProcess, topic: str, messages: list[dict[str, Any]], **config: Any) -> None:
    producer = Producer({"bootstrap.servers": process.bootstrap, "enable.metrics.push": False, **config})
    for message in messages:
        producer.produce(topic, **message)
    assert producer.flush(20) == 0


def test_what_is_sent_here_is_read_by_clients(rest: Rest, process: PenstockProcess) -> None:
    topic = rest.topic(3)
    sent = [
        {"key": "c-17", "value": {"total": 9.9, "ä": None}, "headers": [{"name": "source", "value": "web"}]},
        {"key": "c-17", "value": None},
        {"key_base64": "//4=", "value_base64": "AAE=", "partition": 1, "timestamp": 1234},
        {"value": "text ä", "partition": 0, "headers": [{"name": "h", "value_base64": "/w=="}, {"name": "h"}]},
    ]
    stored = [rest.ok("POST", f"/topics/{topic}/messages", body) for body in sent]
    of_key = partition_of(b"c-17", 3)
    assert [each["partition"] for each in stored] == [of_key, of_key, 1, 0]
    seen = {(each.partition, each.offset): each for each in topic_contents(process.bootstrap, topic)}
    found = [seen[each["partition"], each["offset"]] for each in stored]
    assert [(each.key, each.value) for each in found] == [
        (b"c-17", b'{"total":9.9,"\\u00e4":null}'),
        (b"c-17", None),
        (b"\xff\xfe", b"\x00\x01"),
        (None, "text ä".encode()),
    ]
    assert found[0].headers == (("source", b"web"),)
    assert found[3].headers == (("h", b"\xff"), ("h", None))
    assert found[2].time_ms == 1234


def test_acknowledged_is_on_disk(rest: Rest, process: PenstockProcess) -> None:
    topic = rest.topic()
    answer = rest("POST", f"/topics/{topic}/messages", {"value": "kept"})
    process.kill9()
    process.start()
    assert (answer.status, answer.body["offset"]) == (201, 0)
    assert values(rest.ok("GET", answer.headers["location"].removeprefix("/api/v1"))) == ["kept"]


def test_messages_without_a_key_go_round(rest: Rest) -> None:
    topic = rest.topic(3)
    path = f"/topics/{topic}/messages"
    assert {rest.ok("POST", path, {"value": "x"})["partition"] for _ in range(3)} == {0, 1, 2}


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_what_clients_send_is_shown(rest: Rest, process: PenstockProcess, codec: str) -> None:
    """In the middle of batches, too, and of large ones that the worker decodes."""
    topic = rest.topic()
    sent = [
        {"key": f"k{n}", "value": f"v{n}", "timestamp": 10_000 + n, "headers": [("n", b"\xff")]} for n in range(2_500)
    ]
    produce(process, topic, sent, **{"compression.type": codec, "linger.ms": 50})
    page = peek(rest, topic, "offset=1234&limit=3")
    assert values(page) == ["v1234", "v1235", "v1236"]
    assert (page["next_offset"], page["log_start"], page["high_watermark"]) == (1237, 0, 2_500)
    first = page["messages"][0]
    assert (first["key"], first["timestamp"], first["value_bytes"], first["cut"]) == ("k1234", 11_234, 5, False)
    assert first["headers"] == [{"name": "n", "value": None, "value_base64": "/w=="}]
    assert values(peek(rest, topic, "time=11500&limit=1")) == ["v1500"]
    assert values(peek(rest, topic, "time=1970-01-01T00:00:11.500Z&limit=1")) == ["v1500"]
    assert values(peek(rest, topic, "time=99999")) == []
    assert values(peek(rest, topic, "last=2")) == ["v2498", "v2499"]
    assert len(peek(rest, topic)["messages"]) == 20


def test_one_page_after_the_other_is_everything(rest: Rest, process: PenstockProcess) -> None:
    topic = rest.topic(1, segment_bytes=1_048_576)
    produce(process, topic, [{"value": f"{n}".ljust(9_000)} for n in range(300)], **{"linger.ms": 5})
    found, offset = [], 0
    while True:
        page = peek(rest, topic, f"offset={offset}&limit=500")
        assert len(page["messages"]) < 100, "an answer has a bound"
        if not page["messages"]:
            break
        found += [value.strip() for value in values(page)]
        offset = page["next_offset"]
    assert found == [str(n) for n in range(300)]


def test_large_and_odd_values(rest: Rest, process: PenstockProcess) -> None:
    topic = rest.topic()
    produce(process, topic, [{"value": b"\xff" * 900_000}, {"value": b""}, {"value": None}, {"value": b"\xed\xa0\x80"}])
    (first,) = peek(rest, topic, "limit=1")["messages"]
    assert (first["value"], first["value_bytes"], first["cut"]) == (None, 900_000, True)
    assert set(base64.b64decode(first["value_base64"])) == {0xFF}
    rest_of_them = peek(rest, topic, "offset=1")["messages"]
    assert [(each["value"], each["value_base64"], each["value_bytes"]) for each in rest_of_them] == [
        ("", None, 0),
        (None, None, None),
        (None, "7aCA", 3),
    ]


def test_aborted_and_open_transactions_are_hidden(rest: Rest, client: RawClient) -> None:
    topic = rest.topic()
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    tx.send(topic, "gone")
    tx.abort()
    tx.send(topic, "kept")
    tx.commit()
    tx.send(topic, "open")
    assert values(peek(rest, topic)) == ["kept"]
    assert values(peek(rest, topic, "isolation=read_uncommitted")) == ["gone", "kept", "open"]
    tx.abort()


def test_compacted_topics_need_keys(rest: Rest) -> None:
    topic = rest.topic(cleanup_policy="compact")
    assert "without a key" in rest.refused(400, "INVALID_RECORD", "POST", f"/topics/{topic}/messages", {"value": "x"})
    assert rest.send(topic, "x", key="k") == [0]


def test_after_records_are_deleted(rest: Rest, client: RawClient) -> None:
    topic = rest.topic()
    rest.send(topic, "a", "b", "c")
    partitions = [{"partition_index": 0, "offset": 2}]
    client.call("delete_records", 2, topics=[{"name": topic, "partitions": partitions}], timeout=10_000)
    told = rest.refused(400, "OFFSET_OUT_OF_RANGE", "GET", f"/topics/{topic}/partitions/0/messages?offset=1")
    assert "from 2 to 3" in told
    assert values(peek(rest, topic)) == ["c"]
    assert values(peek(rest, topic, "last=100")) == ["c"]
    assert values(peek(rest, topic, "offset=3")) == []


@pytest.mark.parametrize(
    ("query", "error", "told"),
    [
        ("offset=1", "OFFSET_OUT_OF_RANGE", "from 0 to 0"),
        ("offset=-1", "INVALID_REQUEST", "offset: should be greater"),
        ("offset=x", "INVALID_REQUEST", "offset: should be a valid integer"),
        ("offset=99999999999999999999", "INVALID_REQUEST", "offset"),
        ("offset=0&time=5", "INVALID_REQUEST", "give one of them"),
        ("time=yesterday", "INVALID_REQUEST", "'yesterday' is not a time; write 2026-03-01T09:00:00Z"),
        ("time=2026-13-01", "INVALID_REQUEST", "write 2026-03-01T09:00:00Z"),
        ("time=999999999999999", "INVALID_REQUEST", "milliseconds since 1970"),
        ("limit=0", "INVALID_REQUEST", "limit"),
        ("limit=501", "INVALID_REQUEST", "limit"),
        ("last=0", "INVALID_REQUEST", "last"),
        ("isolation=dirty", "INVALID_REQUEST", "read_committed"),
        ("ofset=0", "INVALID_REQUEST", "did you mean offset? this path takes offset, time, last, limit, isolation"),
    ],
)
def test_bad_questions(rest: Rest, query: str, error: str, told: str) -> None:
    topic = rest.topic()
    assert told in rest.refused(400, error, "GET", f"/topics/{topic}/partitions/0/messages?{query}")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"value": "x", "value_base64": "eA=="}, "value or value_base64, not both"),
        ({"key": "x", "key_base64": "eA=="}, "key or key_base64, not both"),
        ({"value_base64": "x"}, "not base64; encode the bytes"),
        ({"value": "x", "partition": -1}, "partition"),
        ({"value": "x", "timestamp": -5}, "timestamp"),
        ({"value": "x", "headers": {"a": "b"}}, "headers: should be a valid list"),
        ({"value": "x", "headers": [{"value": "b"}]}, "headers.0.name"),
        ({"valeu": "x"}, "valeu: there is no such field"),
        (b'{"value": "\\ud800"}', "lone surrogate"),
        (b'{"key": "\\ud800"}', "lone surrogate"),
    ],
)
def test_bad_messages(rest: Rest, body: object, told: str) -> None:
    topic = rest.topic()
    assert told in rest.refused(400, "INVALID_REQUEST", "POST", f"/topics/{topic}/messages", body)
    assert peek(rest, topic)["high_watermark"] == 0


def test_where_nothing_can_be_stored(rest: Rest) -> None:
    topic = rest.topic(max_message_bytes=1000)
    path = f"/topics/{topic}/messages"
    told = rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", path, {"value": "x", "partition": 1})
    assert "0 to 0" in told
    assert "max.message.bytes" in rest.refused(413, "MESSAGE_TOO_LARGE", "POST", path, {"value": "x" * 2000})
    assert "262144 bytes" in rest.refused(413, "MESSAGE_TOO_LARGE", "POST", path, b"x" * 300_000)
    before = rest.ok("GET", "/cluster")["topics"]
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", "/topics/missing/messages", {"value": "x"})
    assert rest.ok("GET", "/cluster")["topics"] == before, "a misspelt name makes no topic"
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "GET", f"/topics/{topic}/partitions/7/messages")
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "GET", "/topics/missing/partitions/0/messages")
