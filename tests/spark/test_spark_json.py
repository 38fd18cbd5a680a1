"""JSON values to typed columns: what is right, what is wrong, and that a bad row harms no other."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_spark.reading.tables.ddl import parse_ddl
from penstock_spark.reading.values.json_values import JsonDecoder

Rows = list[tuple[dict[str, Any], str]]


def decode(schema: str, *values: bytes | None) -> Rows:
    """Each row, and the reason if it is bad."""
    decoder = JsonDecoder(parse_ddl(schema))
    typed = decoder.decode(pa.array(values, pa.binary()))
    batch = pa.RecordBatch.from_arrays(typed.columns, schema=decoder.schema)
    batch.validate(full=True)
    return [(row, decoder.reasons[problem]) for row, problem in zip(batch.to_pylist(), typed.problems, strict=True)]


def one(kind: str, text: str) -> Any:
    """The value of a field of that type; an error if the row is bad."""
    [(row, reason)] = decode(f"field {kind}", b'{"field": %s}' % text.encode())
    assert not reason or row == {"field": None}
    if reason:
        raise ValueError(reason)
    return row["field"]


UTC = datetime.UTC


@pytest.mark.feature("X-04")
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("BOOLEAN", "true", True),
        ("TINYINT", "-128", -128),
        ("SMALLINT", "32767", 32767),
        ("INT", "-2147483648", -(1 << 31)),
        ("BIGINT", "-9223372036854775808", -(1 << 63)),
        ("BIGINT", "9223372036854775807", (1 << 63) - 1),
        ("DOUBLE", "1", 1.0),
        ("DOUBLE", "-0.1e-7", -0.1e-7),
        ("DOUBLE", "0.1234567890123456789", 0.1234567890123456789),
        ("DOUBLE", "123456789012345678901234567890", 123456789012345678901234567890.0),
        ("DOUBLE", "1e400", math.inf),
        ("DOUBLE", "5e-324", 5e-324),
        ("DOUBLE", "1e-400", 0.0),
        ("DOUBLE", "-Infinity", -math.inf),
        ("DOUBLE", '"+INF"', math.inf),
        ("FLOAT", "0.1", 0.10000000149011612),
        ("FLOAT", "1e39", math.inf),
        ("DECIMAL(10, 2)", "12.345", decimal.Decimal("12.35")),
        ("DECIMAL(10, 2)", "-12.345", decimal.Decimal("-12.35")),
        ("DECIMAL(10, 2)", '"7"', decimal.Decimal("7.00")),
        ("DECIMAL(10, 2)", "1e3", decimal.Decimal("1000.00")),
        ("DECIMAL(10, 2)", "1e-30", decimal.Decimal("0.00")),
        ("DECIMAL(38, 10)", "1234567890123456789012345678.0123456789", "1234567890123456789012345678.0123456789"),
        ("DECIMAL(38, 0)", "-99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"),
        ("STRING", '"a\\u00e9\\ud83d\\ude00\\"\\\\\\/\\b\\f\\n\\r\\t"', 'aé😀"\\/\b\f\n\r\t'),
        ("STRING", '"\\ud83d!"', "?!"),
        ("STRING", "'it is \"quoted\"'", 'it is "quoted"'),
        ("STRING", "12.50", "12.50"),
        ("STRING", '{"a": [1, {}]}', '{"a": [1, {}]}'),
        ("STRING", '""', ""),
        ("STRING", "null", None),
        ("BINARY", '"aGk="', b"hi"),
        ("DATE", '"2026-11-16"', datetime.date(2026, 11, 16)),
        ("DATE", '"2024-2-29"', datetime.date(2024, 2, 29)),
        ("DATE", '"1582-10-04T00:00:00Z"', datetime.date(1582, 10, 4)),
        ("TIMESTAMP", '"2026-11-16"', datetime.datetime(2026, 11, 16, tzinfo=UTC)),
        ("TIMESTAMP", '"2026-11-16T09:30:15.1234567Z"', datetime.datetime(2026, 11, 16, 9, 30, 15, 123456, UTC)),
        ("TIMESTAMP", '"2026-11-16 09:30:15+01:30"', datetime.datetime(2026, 11, 16, 8, 0, 15, tzinfo=UTC)),
        ("TIMESTAMP", '"1969-12-31 9:30 UTC"', datetime.datetime(1969, 12, 31, 9, 30, tzinfo=UTC)),
        ("TIMESTAMP", "-5", datetime.datetime(1969, 12, 31, 23, 59, 55, tzinfo=UTC)),
        ("TIMESTAMP_NTZ", '"2026-11-16 09:30:15.5"', datetime.datetime(2026, 11, 16, 9, 30, 15, 500000)),  # noqa: DTZ001
        ("ARRAY<INT>", "[1, null, 3]", [1, None, 3]),
        ("ARRAY<INT>", "[ ]", []),
        ("MAP<STRING, DOUBLE>", '{"a\\n": 1, "b": null}', [("a\n", 1.0), ("b", None)]),
        ("STRUCT<a: INT, b: STRUCT<c: STRING>>", '{"b": {"c": "x", "d": 1}}', {"a": None, "b": {"c": "x"}}),
        ("ARRAY<STRUCT<a: ARRAY<STRING>>>", '[{"a": ["x", "y"]}, null, {}]', [{"a": ["x", "y"]}, None, {"a": None}]),
    ],
)
def test_what_fits(kind: str, text: str, expected: Any) -> None:
    found = one(kind, text)
    assert found == (decimal.Decimal(expected) if isinstance(found, decimal.Decimal) else expected)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("BOOLEAN", '"true"'),
        ("BOOLEAN", "1"),
        ("TINYINT", "128"),
        ("INT", "2147483648"),
        ("INT", "1.0"),
        ("INT", '"1"'),
        ("INT", "NaN"),
        ("BIGINT", "9223372036854775808"),
        ("BIGINT", "1234567890123456789012345"),
        ("DOUBLE", '"1.5"'),
        ("DOUBLE", '""'),
        ("DOUBLE", "true"),
        ("DECIMAL(10, 2)", "123456789"),
        ("DECIMAL(38, 10)", "12345678901234567890123456789"),
        ("DECIMAL(10, 2)", '"a lot"'),
        ("STRING", '"\xff"'),
        ("BINARY", '"not base 64"'),
        ("DATE", '"2026-02-29"'),
        ("DATE", '"2026-13-01"'),
        ("DATE", '"16.11.2026"'),
        ("DATE", "20260101"),
        ("TIMESTAMP", '"2026-11-16T25:00:00Z"'),
        ("TIMESTAMP", '"2026-11-16T09:30:00 Europe/Berlin"'),
        ("TIMESTAMP", '"2026-11-16T09:30:00+19:00"'),
        ("TIMESTAMP", "1.5"),
        ("TIMESTAMP_NTZ", '"2026-11-16T09:30:00Z"'),
        ("TIMESTAMP_NTZ", "5"),
        ("ARRAY<INT>", '{"a": 1}'),
        ("ARRAY<INT>", '[1, "x"]'),
        ("MAP<STRING, INT>", "[]"),
        ("MAP<STRING, INT>", '{"a": "b"}'),
        ("STRUCT<a: INT>", '{"a": "x"}'),
        ("STRUCT<a: INT>", "5"),
    ],
)
def test_what_does_not_fit_is_told_with_its_column(kind: str, text: str) -> None:
    [(row, reason)] = decode(f"field {kind}, other INT", b'{"other": 1, "field": %s}' % text.encode("latin-1"))
    assert row == {"field": None, "other": None}
    assert reason == f"field is no {parse_ddl(f'field {kind}')[0].dataType.simpleString().upper()}"


EMPTY, NO_OBJECT, BROKEN = JsonDecoder.problem_texts


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", EMPTY),
        (b" \n", EMPTY),
        (b"null", NO_OBJECT),
        (b"12", NO_OBJECT),
        (b'[{"a": 1}]', NO_OBJECT),
        (b'"a"', NO_OBJECT),
        (b"{", BROKEN),
        (b'{"a"', BROKEN),
        (b'{"a":', BROKEN),
        (b'{"a": 1', BROKEN),
        (b'{"a": 1,}', BROKEN),
        (b"{a: 1}", BROKEN),
        (b'{"a": 01}', BROKEN),
        (b'{"a": 1.}', BROKEN),
        (b'{"a": +1}', BROKEN),
        (b'{"a": nul}', BROKEN),
        (b'{"a": "\t"}', BROKEN),
        (b'{"a": "\\x"}', BROKEN),
        (b'{"a": "\\u12g4"}', BROKEN),
        (b'{"a": "b}', BROKEN),
        (b'{"b": [1, }]}', BROKEN),
        (b'{"b": {"c" 1}}', BROKEN),
        (b'{"b": ' + b"[" * 65 + b"]" * 65 + b"}", BROKEN),
        (b'{"a": 1} {"a": 2}', BROKEN),
        (b'{"a": 1}\n{"a": 2}', BROKEN),
        (b"\x00\x01\xff", BROKEN),
    ],
)
def test_what_is_no_object(value: bytes, reason: str) -> None:
    assert decode("a INT", value) == [({"a": None}, reason)]


def test_fields_are_found_by_name() -> None:
    values = (
        b'{"b": "x", "a": 1}',
        b'{ "\\u0061" : 2 ,\n"unknown": [{"a": 5}, "}"], "A": 9 }',
        b'{"a": 3, "a": 4}',
        b'{"a": 5, "a": null}',
        b"{}",
        None,
    )
    rows = [({"a": 1, "b": "x"}, ""), ({"a": 2, "b": None}, ""), ({"a": 4, "b": None}, "")]
    assert decode("a INT, b STRING", *values) == rows + [({"a": None, "b": None}, "")] * 3


def test_slices_and_no_rows() -> None:
    decoder = JsonDecoder(parse_ddl("a INT"))
    values = pa.array([b'{"a": 1}', None, b"x", b'{"a": 2}'], pa.binary())
    assert decoder.decode(values.slice(1)).columns[0].to_pylist() == [None, None, 2]
    assert decoder.decode(values.slice(2)).problems.tolist() == [3, 0]
    assert len(decoder.decode(values.slice(4)).columns[0]) == 0


# --- at random -------------------------------------------------------------------------------------------------------

SCHEMA = "s STRING, i BIGINT, d DOUBLE, b BOOLEAN, l ARRAY<BIGINT>, o STRUCT<s: STRING, d: DOUBLE>"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
longs = st.integers(-(1 << 63), (1 << 63) - 1)
fields = {
    "s": texts,
    "i": longs,
    "d": st.floats(allow_nan=False, allow_infinity=False),
    "b": st.booleans(),
    "l": st.lists(longs, max_size=4),
    "o": st.fixed_dictionaries({}, optional={"s": texts, "d": st.floats(-1e9, 1e9)}),
}
unknown = st.sampled_from([{}, {"unknown": [1, {"s": "}"}, []]}, {"i2": None}, {"": {"": {}}}])
objects = st.builds(lambda known, more: more | known, st.fixed_dictionaries({}, optional=fields), unknown)
written = st.tuples(objects, st.booleans(), st.sampled_from([None, 1])).map(
    lambda each: json.dumps(each[0], ensure_ascii=each[1], indent=each[2]).encode()
)


def expected(value: bytes) -> dict[str, Any]:
    parsed = json.loads(value)
    row = {name: parsed.get(name) for name in fields}
    if row["o"] is not None:
        row["o"] = {"s": row["o"].get("s"), "d": row["o"].get("d")}
    return row


@pytest.mark.feature("X-04")
@settings(max_examples=100, deadline=None)
@given(st.lists(written, max_size=6))
def test_it_is_what_python_reads(values: list[bytes]) -> None:
    assert decode(SCHEMA, *values) == [(expected(value), "") for value in values]


@pytest.mark.feature("X-04")
@settings(max_examples=150, deadline=None)
@given(written, written, written, st.data())
def test_a_spoiled_row_harms_no_other(before: bytes, spoiled: bytes, after: bytes, data: st.DataObject) -> None:
    content = bytearray(spoiled)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    first, found, last = decode(SCHEMA, before, cut, after)
    assert (first, last) == ((expected(before), ""), (expected(after), ""))
    if found[1]:
        assert set(found[0].values()) == {None}


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 20))
def test_doubles_are_right_to_the_last_bit(number: float, digits: int) -> None:
    for text in (repr(number), f"{number:.{digits}e}", f"{number:.{digits}f}"):
        assert one("DOUBLE", text) == float(text)


@settings(max_examples=100, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(0, 8), st.integers(1, 30))
def test_decimals_are_rounded_half_up(number: decimal.Decimal, scale: int, before: int) -> None:
    kind, unit = f"DECIMAL({before + scale}, {scale})", decimal.Decimal(1).scaleb(-scale)
    with decimal.localcontext(prec=200):
        right = number.quantize(unit, decimal.ROUND_HALF_UP)
    if abs(right) < 10**before:
        assert one(kind, f"{number:f}") == right
    else:
        with pytest.raises(ValueError, match="is no DECIMAL"):
            one(kind, f"{number:f}")


@settings(max_examples=100, deadline=None)
@given(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)), st.integers(-18, 18))  # noqa: DTZ001
def test_times_and_dates(time: datetime.datetime, hours: int) -> None:
    assert one("TIMESTAMP_NTZ", f'"{time.isoformat()}"') == time
    assert one("DATE", f'"{time.date().isoformat()}"') == time.date()
    zoned = time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))
    if datetime.datetime(2, 1, 1, tzinfo=UTC) < zoned < datetime.datetime(9998, 1, 1, tzinfo=UTC):
        assert one("TIMESTAMP", f'"{zoned.isoformat()}"') == zoned
