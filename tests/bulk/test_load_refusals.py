"""Files and rows that cannot be loaded, and the messages about them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from penstock.bulk.errors import BadRow, BulkError, Missing, Unfit
from penstock.model.errors import KafkaError
from tests.bulk.conftest import Contents, Run
from tests.support.raw_client import RawClient


def test_a_bad_line_stops_it_before_its_transaction(
    run_load: Run, contents: Contents, topic: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    good = [f'{{"n":{number}}}' for number in range(10)]
    path.write_text("\n".join([*good[:7], "{nonsense", *good[7:]]) + "\n")
    with pytest.raises(BadRow, match=r"line 8 of .* is not JSON.*--skip-bad"):
        run_load(path, rows=5)
    assert [(each.value or b"").decode() for each in contents(topic)] == good[:5]
    path.write_text("\n".join(good) + "\n")  # mended behind what is loaded
    run_load(path, rows=5)
    assert [(each.value or b"").decode() for each in contents(topic)] == good


def test_bad_rows_are_put_aside(run_load: Run, contents: Contents, topic: str, tmp_path: Path) -> None:
    path, aside = tmp_path / "rows.csv", tmp_path / "bad.jsonl"
    path.write_bytes(b'a,b\n1,2\n1\n2,\xff\nx,4\n"3\n",5\n')
    aside.write_text('{"reason": "of another job"}\n')
    options: dict[str, Any] = {"numbers": ("a",), "skip_bad": aside}
    assert run_load(path, **options) == (2, 3)
    assert [each.value for each in contents(topic)] == [b'{"a":1,"b":"2"}', b'{"a":3,"b":"5"}']
    other, *found = [json.loads(line) for line in aside.read_text().splitlines()]
    assert other == {"reason": "of another job"}
    assert [(each["line"], each["reason"]) for each in found] == [
        (3, "has 1 cells, and there are 2 columns"),
        (4, "is not UTF-8"),
        (5, "has 'x' in a, which is not a number"),
    ]
    assert found[1]["row"] == "2,\\xff"
    run_load(path, **options)
    assert len(aside.read_text().splitlines()) == 4
    with pytest.raises(Unfit, match="were put aside before"):
        run_load(path, numbers=("a",))


@pytest.mark.parametrize(
    ("name", "content", "options", "kind", "reason"),
    [
        ("none.csv", None, {}, Missing, "does not exist"),
        ("a.txt", "x\n", {}, Unfit, r"--format sqlite\|csv\|jsonl\|parquet"),
        ("a.csv.gz", "x\n", {}, Unfit, "unpack it: gunzip -k"),
        ("a.json", "[1, 2]\n", {}, Unfit, "jq -c"),
        ("a.csv", "", {}, Unfit, "is empty"),
        ("a.csv", "a,a\n", {}, Unfit, "has a name twice"),
        ("a.csv", "a,b\n1,2\n", {"key": "c"}, Missing, "has no column c; it has a, b"),
        ("a.csv", "a,b\n1,2\n", {"value": "xml"}, Unfit, "none of json, csv and column:NAME"),
        ("a.csv", "a,b\n1,2\n", {"table": "t"}, Unfit, "are for databases"),
        ("a.csv", "a\n1\n", {"format": "sqlite", "table": "t"}, Unfit, "cannot be read as an SQLite database"),
        ("a.csv", 'a\n"1\n', {}, BadRow, "line 2 of .* is not CSV: unexpected end of data"),
        ("a.csv", "a\n1\n", {"timestamp": "a", "columns": ("a",)}, BadRow, "line 1 of .* neither ISO 8601"),
        ("a.parquet", "no parquet", {}, Unfit, "cannot be read as Parquet"),
        ("a.jsonl", '{"a":1}\n', {"key": "b"}, BadRow, "line 1 of .* has no field b"),
        ("a.jsonl", '{"a":NaN}\n', {}, BadRow, "NaN is not a JSON number"),
        ("a.jsonl", '{"a":1}\n', {"value": "csv"}, Unfit, "use --value json"),
        ("a.jsonl", '{"a":1}\n', {"delimiter": ";"}, Unfit, "are for CSV"),
    ],
)
def test_what_cannot_be_loaded(
    run_load: Run,
    tmp_path: Path,
    name: str,
    content: str | None,
    options: dict[str, Any],
    kind: type[BulkError],
    reason: str,
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(kind, match=reason):
        run_load(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({}, Unfit, r"--table \(t\) or give a --query"),
        ({"table": "u"}, Missing, "has no table u; it has t"),
        ({"table": "w"}, Unfit, "ORDER BY"),
        ({"query": "SELECT * FROM t"}, Unfit, "has no ORDER BY"),
        ({"query": "SELECT x FROM t ORDER BY x"}, Unfit, "no such column: x"),
    ],
)
def test_what_a_database_does_not_have(
    run_load: Run, tmp_path: Path, options: dict[str, Any], kind: type[BulkError], reason: str
) -> None:
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (v TEXT)")
        database.execute("CREATE VIEW w AS SELECT * FROM t")
    with pytest.raises(kind, match=reason):
        run_load(tmp_path / "t.db", **options)


def test_another_number_of_partitions(run_load: Run, client: RawClient, topic: str, tmp_path: Path) -> None:
    client.create_topic(topic)
    (tmp_path / "a.jsonl").write_text("1\n")
    with pytest.raises(Unfit, match="has 1 partition, not 3"):
        run_load(tmp_path / "a.jsonl", partitions=3)


def test_what_the_broker_does_not_take(run_load: Run, client: RawClient, topic: str, tmp_path: Path) -> None:
    client.create_topic(topic, configs={"max.message.bytes": "1000"})
    (tmp_path / "a.jsonl").write_text(json.dumps("x" * 5000) + "\n")
    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        run_load(tmp_path / "a.jsonl")
