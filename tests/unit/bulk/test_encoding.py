"""Rows as records: JSON that is JSON whatever is in the cells, keys and times of every type."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bulk.encoding import Shape, encoder, to_bytes, to_time_ms
from penstock.bulk.rows import Piece, PieceLimits, Row, Source


class Given(Source):
    """Columns and a kind, and no rows: they come from the test."""

    name = "given"

    def __init__(self, kind: str, columns: tuple[str, ...] | None) -> None:
        self.kind, self.columns = kind, columns

    def resume(self, position: dict[str, Any]) -> None:
        raise NotImplementedError

    def read(self, limits: PieceLimits) -> Piece | None:
        return None

    def close(self) -> None:
        pass


names = st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5, unique=True)
cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)


@given(st.data(), names)
def test_typed_rows_as_json(data: st.DataObject, columns: list[str]) -> None:
    row = [data.draw(cells) for _ in columns]
    value = encoder(Given("sqlite", tuple(columns)), Shape())(Row(1, row)).value
    assert json.loads(value or b"") == dict(zip(columns, row, strict=True))


@given(st.data(), names)
def test_text_rows_as_json(data: st.DataObject, columns: list[str]) -> None:
    row = [data.draw(st.text(st.characters(codec="utf-8"))) for _ in columns]
    value = encoder(Given("csv", tuple(columns)), Shape())(Row(1, row)).value
    assert json.loads(value or b"") == dict(zip(columns, row, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", "1"), (" -2.50 ", "-2.50"), ("1e3", "1e3"), ("", "null"), ("007", "7.0"), ("+.5", "0.5")],
)
def test_numbers(text: str, expected: str) -> None:
    encode = encoder(Given("csv", ("a",)), Shape(numbers=("a",)))
    assert encode(Row(1, [text])).value == f'{{"a":{expected}}}'.encode()


@pytest.mark.parametrize("text", ["x", "1_000", "nan", "inf", "1,5", "0x10"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="which is not a number"):
        encoder(Given("csv", ("a",)), Shape(numbers=("a",)))(Row(1, [text]))


def test_what_json_has_no_form_for() -> None:
    columns = ("bytes", "decimal", "time")
    row = Row(1, [b"\0\xff", Decimal("1.10"), datetime(2026, 11, 16, tzinfo=UTC)])
    assert encoder(Given("parquet", columns), Shape())(row).value == (
        b'{"bytes":"AP8=","decimal":"1.10","time":"2026-11-16T00:00:00+00:00"}'
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        encoder(Given("parquet", ("f",)), Shape())(Row(1, [float("inf")]))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (b"\0", b"\0"), ("ä", "ä".encode()), (5, b"5"), (1.5, b"1.5"), (True, b"true"), ([1], b"[1]")],
)
def test_keys(value: Any, expected: bytes | None) -> None:
    assert to_bytes(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1763280000123, 1763280000123),
        ("1763280000123", 1763280000123),
        ("2026-11-16T09:00:00.123Z", 1794819600123),
        ("2026-11-16 09:00", 1794819600000),
        (datetime(2026, 11, 16, 10, tzinfo=timezone(timedelta(hours=1))), 1794819600000),
    ],
)
def test_times(value: Any, expected: int) -> None:
    assert to_time_ms(value) == expected


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "yesterday", 1 << 63])
def test_no_times(value: Any) -> None:
    with pytest.raises(ValueError, match="neither ISO 8601 nor milliseconds"):
        to_time_ms(value)
