"""The same typed columns from `from_json` and from the table: random data, good and bad."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import from_json

from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.values.json_values import JsonDecoder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = (
    "s STRING, i INT, l BIGINT, sh SMALLINT, d DOUBLE, f FLOAT, b BOOLEAN, c DECIMAL(12, 3), big DECIMAL(38, 6), "
    "day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, bin BINARY, many ARRAY<INT>, named MAP<STRING, DOUBLE>, "
    "o STRUCT<x: INT, y: STRUCT<z: STRING>>, os ARRAY<STRUCT<x: INT>>"
)
TIMES = (
    "2026-11-16", "2026-11-16T09:30:00Z", "2026-11-16 09:30:00.123456", "2026-11-16T09:30:00+05:30", "1969-1-2 3:4:5",
    "2026-11-16T09:30", "2026-02-30", "tomorrow", "", "2026-11-16T24:00:00", "0001-01-01T00:00:00", "2026",
    "2026-11-16T09:30:00.1234567Z", "2026-11-16T09:30:00-0800", "9999-12-31 23:59:59.999999", "2026-11", "2026-1-1Z",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-7", "32767", "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
    "1.0", "0.1", "-2.5e3", "1e-3", "1E10", "123456.789", "0.0005", "999999999.9995", "1e400", "1e-400",
    "12345678901234567890.123", "3.141592653589793", "NaN", "Infinity", "-Infinity",
)  # fmt: skip
TEXTS = ('"x"', '"é"', '"\\u00e9\\n"', '"NaN"', '"12.5"', '""', '"aGk="', '"true"', '"\\ud83d\\ude00"', "'single'")
OTHERS = ("null", "true", "false", "{}", "[]", '{"x": 1}', '{"x": "1"}', '{"y": {"z": "q"}}', '{"y": {"z": 5}}',
          "[1, 2]", "[1, null]", '["a"]', '[{"x": 1}, {}]', '[{"x": "a"}]', '{"a": 1.5, "b": null}')  # fmt: skip
BROKEN = ("{", '{"i": 1', '{"i": }', '{"i": 1,}', "[]", "null", "12", '{"i": 01}', "{i: 1}", '{"s": "\\q"}')


def random_value(chance: random.Random) -> str:
    group = chance.choice((TEXTS, NUMBERS, OTHERS, [json.dumps(time) for time in TIMES]))
    return chance.choice(group)


# What is no string is a STRING as it was written; `from_json` writes it anew, without blanks, `1e-3` as `0.001`.
FITTING: dict[str, tuple[str, ...]] = {
    "s": TEXTS + NUMBERS[:7] + OTHERS[:5], "i": NUMBERS[:7], "l": NUMBERS[:9], "sh": NUMBERS[:5], "d": NUMBERS,
    "f": NUMBERS[:17], "b": ("true", "false", "null"), "c": NUMBERS[:19], "big": NUMBERS[:21],
    "bin": ('"aGk="', "null", '""'),
    "day": tuple(map(json.dumps, TIMES)), "at": (*map(json.dumps, TIMES), "5"), "wall": tuple(map(json.dumps, TIMES)),
    "many": ("[1, 2]", "[]", "null", "[1, null]"), "named": ('{"a": 1.5, "b": null}', "{}"),
    "o": ('{"x": 1}', "{}", '{"y": {"z": "q"}}', '{"y": {"z": 5}}'), "os": ("[]", '[{"x": 1}, {}]'),
}  # fmt: skip


def document(chance: random.Random) -> str:
    if chance.random() < 0.03:
        return chance.choice(BROKEN)
    members = []
    for name in chance.sample(sorted(FITTING), chance.randint(0, 4)):
        value = chance.choice(FITTING[name]) if chance.random() < 0.9 or name == "s" else random_value(chance)
        members.append(f'"{name}"{chance.choice(["", " "])}: {value}')
    if chance.random() < 0.2:
        members.append(f'"unknown": {random_value(chance)}')
    return "{" + chance.choice([",", " , ", ",\n"]).join(members) + "}"


@pytest.mark.feature("X-04")
def test_typed_columns_are_those_of_from_json(spark: SparkSession) -> None:
    chance = random.Random(7)
    values = [document(chance) for _ in range(4000)]
    decoder = JsonDecoder(parse_ddl(SCHEMA))
    typed = decoder.decode(pa.array([value.encode() for value in values], pa.binary()))
    ours = pa.RecordBatch.from_arrays(typed.columns, schema=decoder.schema).to_pylist()
    frame = spark.createDataFrame([(value,) for value in values], "value STRING").repartition(1)
    parsed = frame.select("value", from_json("value", f"{SCHEMA}, _corrupt_record STRING").alias("row"))
    theirs = parsed.select("value", "row.*").toArrow().to_pylist()
    different = []
    for value, problem, row, other in zip(values, typed.problems, ours, theirs, strict=True):
        assert other.pop("value") == value
        is_bad = other.pop("_corrupt_record") is not None
        if is_bad != bool(problem) or (not is_bad and repr(row) != repr(other)):
            different.append((value, decoder.reasons[problem], is_bad, compare(row, other)))
    assert not different, f"{len(different)} of {len(values)}, for instance {different[:20]}"


def compare(row: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (row[name], other[name]) for name in row if repr(row[name]) != repr(other[name])}
