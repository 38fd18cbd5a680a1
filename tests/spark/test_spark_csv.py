"""Lines of CSV to typed columns."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_spark.errors import BadOption
from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.values.csv_values import CsvDecoder

EMPTY, QUOTE, TOO_FEW, TOO_MANY = CsvDecoder.problem_texts


def decode(schema: str, *values: bytes | None, wanted: str = "", sep: str = ",") -> list[tuple[tuple[Any, ...], str]]:
    decoder = CsvDecoder(parse_ddl(schema), parse_ddl(wanted or schema), sep)
    typed = decoder.decode(pa.array(values, pa.binary()))
    batch = pa.RecordBatch.from_arrays(typed.columns, schema=decoder.schema)
    batch.validate(full=True)
    rows = [tuple(row.values()) for row in batch.to_pylist()]
    return [(row, decoder.reasons[problem]) for row, problem in zip(rows, typed.problems, strict=True)]


@pytest.mark.feature("X-04")
def test_every_type() -> None:
    schema = "s STRING, i INT, d DOUBLE, b BOOLEAN, c DECIMAL(6, 2), t DATE, z TIMESTAMP, x BINARY"
    line = b"ACME,+5,1e2,TRUE,12.345,2026-11-16,2026-11-16T09:30:00Z,hi\r\n"
    time = datetime.datetime(2026, 11, 16, 9, 30, tzinfo=datetime.UTC)
    row = ("ACME", 5, 100.0, True, decimal.Decimal("12.35"), datetime.date(2026, 11, 16), time, b"hi")
    assert decode(schema, line, None, b",,,,,,,") == [(row, ""), ((None,) * 8, ""), ((None,) * 8, "")]


@pytest.mark.parametrize(
    ("value", "row", "reason"),
    [
        (b'"a,b",1', ("a,b", 1), ""),
        (b'"say ""hi""",1', ('say "hi"', 1), ""),
        (b'"",1', ("", 1), ""),
        (b'a"b, 1', (None, None), "i is no INT"),
        (b'a "b",1', ('a "b"', 1), ""),
        (b"", (None, None), EMPTY),
        (b"\n", (None, None), EMPTY),
        (b'"a,1', (None, None), QUOTE),
        (b'"a"b,1', (None, None), QUOTE),
        (b"a", (None, None), TOO_FEW),
        (b"a,1,", (None, None), TOO_MANY),
        (b"\xff,1", (None, None), "s is no STRING"),
    ],
)
def test_quotes_and_mistakes(value: bytes, row: tuple[Any, ...], reason: str) -> None:
    good = ("x", 7)
    assert decode("s STRING, i INT", b"x,7", value, b"x,7") == [(good, ""), (row, reason), (good, "")]


def test_some_fields_and_another_separator() -> None:
    assert decode("a INT, b INT, c INT", b"1;2;3", wanted="c INT, a INT", sep=";") == [((3, 1), "")]
    for wrong in ("", ";;", '"', "é"):
        with pytest.raises(BadOption, match="sep is one ASCII character"):
            decode("a INT", sep=wrong)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_it_reads_what_python_writes(rows: list[tuple[str, str]]) -> None:
    lines = []
    for row in rows:
        file = io.StringIO()
        csv.writer(file).writerow(row)
        lines.append(file.getvalue().encode())
    assert decode("a STRING, b STRING", *lines) == [(row, "") for row in rows]
