"""The schema of a sample of values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock_spark.errors import BadOption
from penstock_spark.reading.tables.inference import inferred_schema


def infer(form: str, *values: bytes, sep: str = ",") -> str:
    found: str = inferred_schema(pa.array(values, pa.binary()), form, sep).simpleString()
    return found


@pytest.mark.feature("X-04")
def test_json() -> None:
    found = infer(
        "json",
        b'{"s": "x", "i": 1, "d": 1, "b": true, "n": null, "l": [], "o": {"a": 1}, "mixed": 1}',
        b"no JSON",
        b"[1]",
        b'{"d": 1.5, "l": [null, 2], "o": {"b": [{}]}, "mixed": "x", "large": 12345678901234567890, "late": "y"}',
    )
    assert found == (
        "struct<s:string,i:bigint,d:double,b:boolean,n:string,l:array<bigint>,o:struct<a:bigint,b:array<string>>,"
        "mixed:string,large:decimal(38,0),late:string>"
    )


@pytest.mark.feature("X-04")
def test_csv() -> None:
    lines = (b'ACME,12,1.5,true,2026-11-16,"a,b",', b",-3,2,FALSE,2026-11-16 09:30:00,,", b"one,too,few")
    assert infer("csv", *lines) == (
        "struct<_c0:string,_c1:bigint,_c2:double,_c3:boolean,_c4:timestamp,_c5:string,_c6:string>"
    )
    assert infer("csv", b"1;2", sep=";") == "struct<_c0:bigint,_c1:bigint>"


@pytest.mark.feature("X-04")
def test_the_shape_of_most_lines_wins(caplog: pytest.LogCaptureFixture) -> None:
    """Wherever the others are, and whatever is in them."""
    good = [f"{number},ACME,{number}.5".encode() for number in range(20)]
    for odd in (b"a header that is one field", b"x,y,z,too many", b'1,"not closed,2', b"", b"\n"):
        for lines in ([odd, *good], [*good, odd], [*good[:7], odd, *good[7:], odd]):
            assert infer("csv", *lines) == "struct<_c0:bigint,_c1:string,_c2:double>"
    assert caplog.records[-1].getMessage() == "2 of 22 lines of CSV do not have 3 fields: they are bad rows"
    assert infer("csv", b"1,2", b"1,2,3") == "struct<_c0:bigint,_c1:bigint,_c2:bigint>", "the larger of two"


def test_one_value_that_is_no_number_makes_a_column_of_text() -> None:
    """As Spark does: a type that fits almost all values would lose the others, which valueSchema may decide."""
    assert infer("csv", *[b"1,2"] * 999, b"1,n/a") == "struct<_c0:bigint,_c1:string>"


@pytest.mark.parametrize("values", [(), (b"12",), (b"{}",)])
def test_nothing_to_infer_from(values: tuple[bytes, ...]) -> None:
    with pytest.raises(BadOption, match="give valueSchema"):
        infer("json", *values)
    with pytest.raises(BadOption, match="give valueSchema"):
        infer("csv")
