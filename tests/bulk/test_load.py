"""Loads of every kind of source: what arrives, and what a second run does."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from penstock.bulk.errors import Changed
from tests.bulk.conftest import Contents, Run
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.told import Told
from tests.support.topic_contents import Seen, topic_contents

PRICES = "symbol,price,time\nAAPL,227.5,2026-11-16T09:00:00Z\nMSFT,431.80,2026-11-16T09:00:01Z\nAAPL,,1763280000123\n"


def values(found: list[Seen]) -> list[str]:
    return [(each.value or b"").decode() for each in found]


@pytest.mark.feature("S-04")
def test_csv(run_load: Run, broker: BrokerProcess, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES)
    options = {"key": "symbol", "timestamp": "time", "numbers": ("price",)}
    assert run_load(path, partitions=3, **options).rows_in_all == 3
    found = contents(topic)
    assert {each.key: each.partition for each in found} == _elsewhere(broker, f"{topic}-other", [b"AAPL", b"MSFT"])
    apple = [each for each in found if each.key == b"AAPL"]
    assert [json.loads(each.value or b"")["price"] for each in apple] == [227.5, None]
    assert [each.time_ms for each in apple] == [1794819600000, 1763280000123]
    assert b'"price":431.80' in next(each.value or b"" for each in found if each.key == b"MSFT")
    run_load(path, **options)
    assert len(contents(topic)) == 3


def _elsewhere(broker: BrokerProcess, topic: str, keys: list[bytes]) -> dict[bytes | None, int]:
    """Where librdkafka puts keys with the partitioner of Kafka's Java client."""
    with RawClient(broker.host, broker.port) as client:
        client.create_topic(topic, partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2"})
    for key in keys:
        producer.produce(topic, b"", key)
    producer.flush()
    return {each.key: each.partition for each in topic_contents(broker.bootstrap, topic)}


@pytest.mark.feature("S-04")
def test_json_lines_as_they_stand(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "name": "ä"}\n\n{"id": 2}\n')
    assert run_load(path, key="id") == (2, 0)
    assert [(each.key, each.value) for each in contents(topic)] == [
        (b"1", '{"id": 1, "name": "ä"}'.encode()),
        (b"2", b'{"id": 2}'),
    ]


@pytest.mark.feature("S-04")
def test_a_table_of_sqlite(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE items (name TEXT, price REAL, picture BLOB)")
        rows = [("pear", 0.5, b"\0\1"), ("plum", None, None)]
        database.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
    run_load(path, table="items", key="name")
    assert values(contents(topic)) == [
        '{"name":"pear","price":0.5,"picture":"AAE="}',
        '{"name":"plum","price":null,"picture":null}',
    ]


def test_a_query_of_sqlite(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE items (name TEXT PRIMARY KEY) WITHOUT ROWID")
        database.executemany("INSERT INTO items VALUES (?)", [("pear",), ("plum",), ("fig",)])
    query = "SELECT name FROM items WHERE name > 'g' ORDER BY name DESC"
    run_load(path, query=query, value="column:name")
    assert values(contents(topic)) == ["plum", "pear"]
    run_load(path, table="items", value="csv")
    assert values(contents(topic)) == ["plum", "pear", "fig", "pear", "plum"]


@pytest.mark.feature("S-04")
def test_parquet(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    table = pa.table({"id": list(range(2500)), "name": [f"n{number}" for number in range(2500)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    run_load(tmp_path / "t.parquet", key="id", value="csv", rows=700)
    assert values(contents(topic)) == [f"{number},n{number}" for number in range(2500)]


def test_rows_without_keys_are_spread(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{number}\n" for number in range(4000)))
    run_load(path, partitions=4)
    found = contents(topic)
    assert sorted(int(each.value or b"") for each in found) == list(range(4000))
    assert {index: sum(each.partition == index for each in found) for index in range(4)}.keys() == {0, 1, 2, 3}


def test_compressed(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{number}\n" for number in range(1000)))
    run_load(path, codec=4)
    assert [int(each.value or b"") for each in contents(topic)] == list(range(1000))


# --- a second run ----------------------------------------------------------------------------------------------------


def test_what_is_appended_later_is_loaded_later(
    run_load: Run, contents: Contents, topic: str, told: Told, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n":1}\n{"n":2}')
    run_load(path)
    with path.open("a") as file:
        file.write('\n{"n":3}\n')
    assert run_load(path).rows_in_all == 3
    assert told.rows == 3
    assert values(contents(topic)) == ['{"n":1}', '{"n":2}', '{"n":3}']
    assert run_load(path, again=True).rows_in_all == 3
    assert len(contents(topic)) == 6


def test_a_last_line_that_grows_is_refused(run_load: Run, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("1\n2")
    run_load(path)
    path.write_text("1\n22\n")
    with pytest.raises(Changed, match=r"line 2 of .* is longer now"):
        run_load(path)


def test_another_file_of_the_same_name_is_refused(run_load: Run, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n":1}\n{"n":2}\n')
    run_load(path)
    path.write_text('{"n":1}\n{"n":9}\n{"n":3}\n')
    with pytest.raises(Changed, match="has changed where it was loaded already"):
        run_load(path)
    with pytest.raises(Changed, match="began with key None, now it is 'n'"):
        run_load(path, key="n")


def test_a_job_goes_on_into_its_own_topic(run_load: Run, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n":1}\n')
    run_load(path, job=topic)
    with pytest.raises(Changed, match=f"began with topic '{topic}', now it is 'another'"):
        run_load(path, job=topic, topic="another")


def test_a_table_that_changed_is_refused(run_load: Run, topic: str, contents: Contents, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        database.executemany("INSERT INTO t (v) VALUES (?)", [("a",), ("b",)])
    run_load(path, table="t")
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO t (v) VALUES ('c')")
    assert run_load(path, table="t").rows_in_all == 3
    with sqlite3.connect(path) as database:
        database.execute("UPDATE t SET v = 'd' WHERE id = 1")
    with pytest.raises(Changed, match="has changed within the first 3 rows"):
        run_load(path, table="t")
    assert len(contents(topic)) == 3


def test_another_parquet_file_is_refused(run_load: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    run_load(path)
    pq.write_table(pa.table({"id": [2]}), path)
    with pytest.raises(Changed, match="is not the file"):
        run_load(path)


def test_a_topic_made_anew_is_loaded_anew(
    run_load: Run, contents: Contents, client: RawClient, topic: str, told: Told, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n":1}\n')
    run_load(path)
    client.delete_topic(topic)
    run_load(path)
    assert "was created again" in told.remarks[-1]
    assert values(contents(topic)) == ['{"n":1}']


def test_an_empty_file(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n")
    assert run_load(path).rows_in_all == 0
    path.write_text("a\n1\n")
    assert run_load(path).rows_in_all == 1
    assert values(contents(topic)) == ['{"a":"1"}']
