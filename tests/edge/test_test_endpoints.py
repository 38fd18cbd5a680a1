"""The test endpoints of a real broker: off unless asked for, and what they write is what Kafka clients read."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.group_client import wait_for_coordinator
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.topic_contents import Seen, topic_contents

pytestmark = pytest.mark.feature("P-14")
SYMBOLS = ("AAPL", "GOOGL", "MSFT", "TSLA", "AMZN")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("files")
    _database(directory / "prices.db")
    (directory / "inside").mkdir()
    _database(directory / "inside" / "more.db")
    (directory / "text.db").write_text("no database")
    outside = tmp_path_factory.mktemp("outside")
    _database(outside / "secret.db")
    (directory / "link.db").symlink_to(outside / "secret.db")
    (directory / "way-out").symlink_to(outside)
    (directory / "good-link.db").symlink_to(directory / "prices.db")
    return directory


def _database(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE prices (symbol TEXT, price REAL, time INTEGER, raw BLOB)")
    rows = [(symbol, 100.5 + number, 1_000 + number, bytes([number])) for number, symbol in enumerate(SYMBOLS)]
    database.executemany("INSERT INTO prices VALUES (?, ?, ?, ?)", rows)
    database.execute("CREATE TABLE half (symbol TEXT, time TEXT)")
    database.executemany("INSERT INTO half VALUES (?, ?)", [("AAPL", "5"), ("GOOGL", "tomorrow")])
    database.execute("CREATE VIEW seen AS SELECT * FROM prices")
    database.commit()
    database.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("broker"), f"test_endpoints: true\ntest_data_dir: {files}\n")
    process.prepare()
    process.start()
    with RawClient(process.host, process.port) as client:
        wait_for_coordinator(client)
    yield process
    process.stop()


def everything(broker: PenstockProcess, topic: str) -> list[Seen]:
    return topic_contents(broker.bootstrap, topic)


def test_they_are_not_there_unless_asked_for(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path)
    process.start()
    try:
        for method, path in (("POST", "load-from-sqlite"), ("POST", "inject-messages"), ("GET", "stats")):
            assert ask(process.http_port, f"/test/{path}", method, {}).status == 404
    finally:
        process.stop()


def test_injected_messages_are_records(broker: PenstockProcess) -> None:
    messages = [
        {"key": "AAPL", "body": {"symbol": "AAPL", "price": 227.5}, "properties": {"exchange": "NASDAQ"}},
        {"key": "GOOGL", "body": "text ä", "timestamp": 1234},
        {"body_base64": "//4="},
        {"key": "AAPL"},
    ]
    answer = ask(broker.http_port, "/test/inject-messages", "POST", {"topic": "injected", "messages": messages})
    assert (answer.status, answer.body) == (200, {"topic": "injected", "messages": 4, "offsets": {"0": [0, 3]}})
    found = everything(broker, "injected")
    assert [(each.key, each.value) for each in found] == [
        (b"AAPL", b'{"symbol":"AAPL","price":227.5}'),
        (b"GOOGL", "text ä".encode()),
        (None, b"\xff\xfe"),
        (b"AAPL", None),
    ]
    assert found[0].headers == (("exchange", b"NASDAQ"),)
    assert found[1].time_ms == 1234


def test_a_table_becomes_messages(broker: PenstockProcess) -> None:
    body = {"file": "prices.db", "table": "prices", "topic": "loaded", "key_column": "symbol"}
    answer = ask(broker.http_port, "/test/load-from-sqlite", "POST", body | {"timestamp_column": "time"})
    assert (answer.status, answer.body["messages"], answer.body["offsets"]) == (200, 5, {"0": [0, 4]})
    found = everything(broker, "loaded")
    assert [each.key for each in found] == [symbol.encode() for symbol in SYMBOLS]
    assert [each.time_ms for each in found] == [1000, 1001, 1002, 1003, 1004]
    assert found[0].value == b'{"symbol":"AAPL","price":100.5,"time":1000,"raw":"AA=="}'
    for name in ("inside/more.db", "good-link.db"):
        answer = ask(broker.http_port, "/test/load-from-sqlite", "POST", body | {"file": name, "value_column": "raw"})
        assert answer.status == 200, answer
    assert [each.value for each in everything(broker, "loaded")[5:]] == [bytes([n]) for n in range(5)] * 2


@pytest.mark.parametrize(
    ("changed", "status", "fix"),
    [
        ({"file": "../prices.db"}, 400, "without .."),
        ({"file": "inside/../prices.db"}, 400, "without .."),
        ({"file": "/etc/passwd"}, 400, "by its path inside"),
        ({"file": "link.db"}, 400, "leads out of test_data_dir"),
        ({"file": "way-out/secret.db"}, 400, "leads out of test_data_dir"),
        ({"file": "none.db"}, 404, "no file none.db"),
        ({"file": "inside"}, 404, "not a file"),
        ({"file": "a\0b"}, 400, "below test_data_dir"),
        ({"file": "text.db"}, 400, "cannot be read as an SQLite database"),
        ({"table": "none"}, 404, "it has half, prices"),
        ({"table": "seen"}, 400, "view"),
        ({"key_column": "none"}, 404, "it has symbol, price, time, raw"),
        ({"table": "half", "timestamp_column": "time"}, 400, "row 2 of half"),
        ({"partition": 7}, 404, "no partition 7"),
        ({"topic": "a b"}, 400, "a b"),
        ({"topic": "__consumer_offsets"}, 400, "internal topic"),
        ({"extra": 1}, 400, "extra"),
        ({"table": None}, 400, "table"),
    ],
)
def test_what_cannot_be_loaded_is_told_and_changes_nothing(
    broker: PenstockProcess, changed: dict[str, object], status: int, fix: str
) -> None:
    body = {"file": "prices.db", "table": "prices", "topic": "refused"} | changed
    answer = ask(broker.http_port, "/test/load-from-sqlite", "POST", body)
    assert answer.status == status, answer
    assert fix in answer.detail
    assert "refused" not in [each["topic"] for each in ask(broker.http_port, "/test/stats").body["topics"]]


@pytest.mark.parametrize(
    ("message", "status", "fix"),
    [
        ({"body": 1, "body_base64": "AA=="}, 400, "not both"),
        ({"body_base64": "?"}, 400, "not base64"),
        ({"partition": 1}, 404, "no partition 1"),
        ({"timestamp": -1}, 400, "timestamp"),
        ({"bdoy": 1}, 400, "bdoy"),
        ({"body": "x" * 2_000_000}, 400, "max.message.bytes"),
    ],
)
def test_what_cannot_be_injected_is_told_and_changes_nothing(
    broker: PenstockProcess, message: dict[str, object], status: int, fix: str
) -> None:
    body = {"topic": "not-injected", "messages": [{"key": "AAPL", "body": 1}, message]}
    answer = ask(broker.http_port, "/test/inject-messages", "POST", body)
    assert answer.status == status
    assert fix in answer.detail
    assert "not-injected" not in [each["topic"] for each in ask(broker.http_port, "/test/stats").body["topics"]]


def test_bodies_are_bounded(broker: PenstockProcess) -> None:
    port = broker.http_port
    assert ask(port, "/test/inject-messages", "POST", b"no JSON").detail.startswith("the body is not JSON (")
    head = f"POST /test/inject-messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {(16 << 20) + 1}\r\n\r\n"
    with socket.create_connection((broker.host, port), 10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")
    assert "/test/docs" in ask(port, "/test/none").detail


def test_stats_say_what_there_is(broker: PenstockProcess) -> None:
    body = {"topic": "counted", "messages": [{"body": number} for number in range(7)]}
    assert ask(broker.http_port, "/test/inject-messages", "POST", body).status == 200
    (topic,) = [each for each in ask(broker.http_port, "/test/stats").body["topics"] if each["topic"] == "counted"]
    assert topic["messages"] == 7
    assert topic["segments"] == 1
    (partition,) = topic["partitions"]
    assert (partition["log_start"], partition["log_end"], partition["messages"]) == (0, 7, 7)
    assert partition["size_bytes"] == topic["size_bytes"] > 0
    assert topic["consumers"] == []


def test_stats_show_consumers(broker: PenstockProcess) -> None:
    from confluent_kafka import Consumer, TopicPartition

    body = {"topic": "consumed", "messages": [{"body": number} for number in range(7)]}
    assert ask(broker.http_port, "/test/inject-messages", "POST", body).status == 200
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "counting"})
    consumer.commit(offsets=[TopicPartition("consumed", 0, 3)], asynchronous=False)
    consumer.close()
    (topic,) = [each for each in ask(broker.http_port, "/test/stats").body["topics"] if each["topic"] == "consumed"]
    assert topic["consumers"] == [{"group": "counting", "state": "Empty", "members": 0, "offsets": {"0": 3}, "lag": 4}]


def test_bodies_are_in_openapi(broker: PenstockProcess) -> None:
    document = ask(broker.http_port, "/test/openapi.json").body
    assert set(document["paths"]) == {"/load-from-sqlite", "/inject-messages", "/stats"}
    assert "<code>/test/inject-messages</code>" in ask(broker.http_port, "/test/docs").body
    assert {"LoadBody", "InjectBody", "InjectedMessage", "WrittenBody", "StatsBody"} <= set(
        document["components"]["schemas"]
    )
    assert ask(broker.http_port, "/test/docs").status == 200
